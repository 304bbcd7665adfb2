import type { Signer } from '../event/Payload.ts'
import type { Workings } from '../destination/workings.ts'

/** A destination at work. */
export interface Place {
  readonly name: string
  readonly work: Workings
  /** Signs what goes there (DE10). */
  readonly signer: Signer | undefined
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
