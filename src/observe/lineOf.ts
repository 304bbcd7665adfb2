import { show as showFailure } from '../outcome/Failure.ts'
import type { Outcome } from '../outcome/Outcome.ts'
import { show as showRefusal } from '../outcome/Refusal.ts'
import type { Happening } from './Happening.ts'
import { kindOf } from './kindOf.ts'
import { oneLine } from './oneLine.ts'

const LONGEST_ID = 100

/** Only a payload's id is an id of ours; any other item may be somebody's data in whole. */
const nameOf = (item: unknown): string =>
  typeof item === 'object' &&
  item !== null &&
  'byteLength' in item &&
  'id' in item &&
  typeof item.id === 'string'
    ? item.id.slice(0, LONGEST_ID)
    : 'an item'

const attempts = (count: number): string => (count === 1 ? '1 attempt' : `${String(count)} attempts`)

const endOf = (outcome: Outcome<unknown>): string => {
  switch (outcome._tag) {
    case 'Delivered':
      return `delivered to ${outcome.receipt.sink} after ${attempts(outcome.attempts)}`
    case 'Rejected':
      return `rejected after ${attempts(outcome.attempts)}: ${showFailure(outcome.failure)}`
    case 'Expired':
      return showFailure(outcome.failure)
    case 'Dropped':
      return `dropped (${outcome.reason})`
    case 'Abandoned': {
      const last = outcome.last === undefined ? '' : `, last: ${showFailure(outcome.last)}`
      return `abandoned after ${attempts(outcome.attempts)}${last}`
    }
  }
}

const textOf = (happening: Happening): string => {
  switch (happening._tag) {
    case 'RefusedAtDoor':
      return `refused: ${showRefusal(happening.refusal)}`
    case 'KeysDropped':
      return `left out, for no field of this kind of event: ${happening.keys.map((key) => key.slice(0, LONGEST_ID)).join(', ')}`
    case 'Accepted':
      return `${nameOf(happening.item)}: accepted`
    case 'Attempted': {
      const { item, sink, number, result, duration } = happening
      const verdict =
        result._tag === 'Left' ? showFailure(result.left) : `delivered ${String(result.right.status ?? '')}`
      return `${nameOf(item)}: attempt ${String(number)} at ${sink}: ${verdict.trim()} in ${String(Math.round(duration))} ms`
    }
    case 'PassedOver':
      return `${nameOf(happening.item)}: attempt ${String(happening.number)} at ${happening.sink}: passed over, its lane is full`
    case 'Waiting': {
      const { item, attempts: count, failure, delay, because } = happening
      return `${nameOf(item)}: waits ${String(delay)} ms (${because}) after ${attempts(count)}: ${showFailure(failure)}`
    }
    case 'Ended':
      return `${nameOf(happening.outcome.item)}: ${endOf(happening.outcome)}`
    case 'Defect':
      return `defect in ${happening.where}: ${kindOf(happening.error)}`
  }
}

/**
 * What happened, in one line for people: message ids, sinks, statuses, reasons; never a payload.
 */
export const lineOf = (happening: Happening): string => oneLine(textOf(happening))
