# SPDX-License-Identifier: Apache-2.0
"""Certificates for tests: an authority of their own, and what it signs."""

import datetime
import subprocess

CONFIG = """\
[ca]
default_ca = own
[own]
database = {folder}/{name}.index
new_certs_dir = {folder}
rand_serial = yes
unique_subject = no
default_md = sha256
policy = any
certificate = {folder}/{name}.pem
private_key = {folder}/{name}.key
[any]
commonName = supplied
"""
EXTENSIONS = """\
subjectAltName = IP:127.0.0.1
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
"""


def openssl(*arguments):
    done = subprocess.run(["openssl", *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"openssl {arguments[0]}: {done.stderr}")


def utc(time):
    return time.strftime("%Y%m%d%H%M%SZ")


class Authority:
    """Signs certificates for 127.0.0.1."""

    def __init__(self, folder, name):
        self.folder = folder
        self.key, self.cert = folder / f"{name}.key", folder / f"{name}.pem"
        self.config = folder / f"{name}.cnf"
        self.config.write_text(CONFIG.format(folder=folder, name=name))
        (folder / f"{name}.index").touch()
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-subj", f"/CN={name}", "-addext", "keyUsage=critical,keyCertSign", "-days", "10",
                "-keyout", self.key, "-out", self.cert)

    def sign(self, name, days=10):
        """(certificate, key); `days` < 0: expired since then."""
        key, cert = self.folder / f"{name}.key", self.folder / f"{name}.pem"
        request, extensions = self.folder / f"{name}.csr", self.folder / f"{name}.ext"
        extensions.write_text(EXTENSIONS)
        end = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=days)
        openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-subj", f"/CN={name}", "-keyout", key, "-out", request)
        # Only `ca` can sign what has expired, in OpenSSL 3.0 and in 3.5.
        openssl("ca", "-batch", "-notext", "-config", self.config, "-in", request,
                "-startdate", utc(end - datetime.timedelta(days=20)), "-enddate", utc(end),
                "-extfile", extensions, "-out", cert)
        return cert, key
