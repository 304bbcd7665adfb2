import type { Workings } from '../destination/workings.ts'

/** A destination at work. */
export interface Place {
  readonly name: string
  readonly work: Workings
  enabled: boolean
}

/** A source at work. */
export interface Source {
  readonly id: string
  readonly enabled: boolean
  readonly deletions: boolean
  /** The destinations that are connected to it, in the order of the settings. */
  readonly places: ReadonlyArray<Place>
  received: number
  accepted: number
}
