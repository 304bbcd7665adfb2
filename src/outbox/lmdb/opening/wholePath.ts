import { resolve } from 'node:path'

/** The one way to write the path of a folder, so that two ways to write it are known to be the same. */
export const wholePath = (path: string): string => resolve(path)
