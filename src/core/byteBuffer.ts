const EMPTY: Buffer = Buffer.alloc(0)
const SMALLEST_BUFFER = 1_024

export type ByteBuffer = ReturnType<typeof byteBuffer>

/**
 * Bytes that come in chunks, such as a body, in one buffer that doubles when it is full: a list of one-byte
 * chunks would take 220 bytes of memory for each. The first chunk is not copied, so it must not change.
 */
export const byteBuffer = () => {
  let buffer = EMPTY
  let size = 0
  return {
    size: (): number => size,
    add: (chunk: Uint8Array): void => {
      const end = size + chunk.length
      if (size === 0) {
        buffer = Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length)
      } else {
        if (end > buffer.length) {
          const larger = Buffer.allocUnsafe(Math.max(2 * buffer.length, end, SMALLEST_BUFFER))
          larger.set(buffer)
          buffer = larger
        }
        buffer.set(chunk, size)
      }
      size = end
    },
    /** All bytes so far. */
    bytes: (): Buffer => (size === buffer.length ? buffer : buffer.subarray(0, size)),
  }
}
