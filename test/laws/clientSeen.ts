/** What the model of a client shows, to be held against a real one. */
import type { Mode } from '../client/commands.ts'

/** What can be seen of a client. */
export interface Seen {
  readonly outcomes: ReadonlyArray<string>
  readonly requests: ReadonlyArray<string>
  readonly flushes: ReadonlyArray<string>
  readonly stats: Readonly<Record<string, number>>
  readonly closedAt: number | undefined
}

export interface Model {
  readonly track: (id: string, bytes: number) => 'Accepted' | 'Full' | 'Closed'
  readonly tick: (ms: number) => void
  readonly server: (mode: Mode) => void
  readonly flush: (timeout: number | undefined) => void
  readonly react: (times: number, call: () => void) => void
  readonly close: (timeout: number) => void
  readonly hasRoom: () => boolean
  readonly seen: () => Seen
}
