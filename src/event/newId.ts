import { randomUUID } from 'node:crypto'

/** A new message id: 36 characters of `[0-9a-f-]` (CO5). Node draws the chance for many of them at once. */
export const newId = (): string => randomUUID()
