import { Subject } from 'rxjs'
import type { Observable } from 'rxjs'
import { turns } from '../../internal/turns.ts'
import { contained } from './contained.ts'
import type { Report } from './contained.ts'

/** A stream that flows whether anybody listens or not. */
export interface Hot<T> {
  readonly next: (value: T) => void
  readonly complete: () => void
  /** Whether anybody listens now. */
  readonly heard: () => boolean
  /** What is being told at this moment: what a subscriber causes while it is told of something. */
  readonly current: () => T | undefined
  /** For strangers. */
  readonly values$: Observable<T>
}

/**
 * A hot stream. Every subscriber hears every value, all in the same order: also a value that a subscriber causes. What a subscriber
 * throws goes to `report`.
 */
export const hot = <T>(report: Report): Hot<T> => {
  const subject = new Subject<T>()
  const order = turns()
  let current: T | undefined
  const emit = (value: T): void => {
    current = value
    subject.next(value)
    current = undefined
  }
  const end = (): void => {
    subject.complete()
  }
  return {
    next: (value) => {
      // To nobody it is not said: RxJS copies its list of listeners all the same, which is felt for every event.
      if (subject.observed || order.busy()) order.take(emit, value)
    },
    complete: () => {
      order.take(end, undefined)
    },
    heard: () => subject.observed,
    current: () => current,
    values$: contained(subject, report),
  }
}
