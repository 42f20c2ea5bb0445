/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32C (Castagnoli, RFC 3720 appendix B.4), the checksum of Kafka's record batches. */
#ifndef KAFKA_EMBEDDED_CRC32C_H
#define KAFKA_EMBEDDED_CRC32C_H

#include <stddef.h>
#include <stdint.h>

uint32_t crc32c(const void *data, size_t size);

#endif
