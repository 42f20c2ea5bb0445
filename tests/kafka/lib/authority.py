# SPDX-License-Identifier: Apache-2.0
"""Certificates for tests: an authority of their own, and what it signs."""

import subprocess


def openssl(*arguments):
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)


class Authority:
    """Signs certificates for 127.0.0.1."""

    def __init__(self, folder, name):
        self.folder = folder
        self.key, self.cert = folder / f"{name}.key", folder / f"{name}.pem"
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-subj", f"/CN={name}", "-days", "10", "-keyout", self.key, "-out", self.cert)

    def sign(self, name, days=10):
        """(certificate, key); `days` < 0: expired since then."""
        key, cert = self.folder / f"{name}.key", self.folder / f"{name}.pem"
        request, extensions = self.folder / f"{name}.csr", self.folder / f"{name}.ext"
        extensions.write_text("subjectAltName=IP:127.0.0.1\n")
        openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-subj", f"/CN={name}", "-keyout", key, "-out", request)
        openssl("x509", "-req", "-in", request, "-CA", self.cert, "-CAkey", self.key,
                "-CAcreateserial", "-days", str(days), "-extfile", extensions, "-out", cert)
        return cert, key
