import { closeSync, constants, existsSync, fstatSync, openSync, writeSync } from 'node:fs'

/** Where lmdb writes when it opens: it maps this into memory, and on a full disk the first write there would end the process. */
const LOCKS = Buffer.alloc(8_192)

/**
 * Opens the two files of a store as lmdb will, and as many at a time: where lmdb cannot, it ends the process. Makes the file of locks if it
 * is not there, with room on the disk.
 *
 * @throws Error when one is not this user's to read and write, or is no file, or no more files can be opened, or the disk is full.
 */
export const checkFiles = (data: string, locks: string): void => {
  const held: number[] = []
  const open = (path: string, flags: number): number => {
    const file = openSync(path, flags, 0o600)
    held.push(file)
    if (!fstatSync(file).isFile()) throw new Error(`${path} is not a file`)
    return file
  }
  try {
    const lock = open(locks, constants.O_RDWR | constants.O_CREAT)
    if (fstatSync(lock).size === 0) writeSync(lock, LOCKS)
    const other = existsSync(data) ? data : locks
    open(other, constants.O_RDWR)
    open(other, constants.O_RDWR)
  } finally {
    held.forEach(closeSync)
  }
}
