import { messageOf } from '../../internal/messageOf.ts'

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or folder',
  EACCES: 'it is not allowed',
  EPERM: 'it is not allowed',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of its path is no folder',
  EROFS: 'the disk is read-only',
  ENOSPC: 'the disk is full',
  EMFILE: 'too many files are open',
  EADDRINUSE: 'something else listens on that port',
  EADDRNOTAVAIL: 'this machine has no such address',
  EIO: 'the device failed',
}

/** Why the system did not do something, in words. */
export const whyNot = (error: unknown): string => {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return REASONS[code] ?? (code === '' ? messageOf(error) : `the system says ${code}`)
}
