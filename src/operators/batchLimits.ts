import { isObservable } from 'rxjs'
import { systemClock } from '../core/clock.ts'
import { isRecord } from '../core/json.ts'
import { clockOption, func, guarded, limit, oneOf } from '../core/options.ts'
import { optional, strict, timeLimit, withDefault } from '../core/options.ts'
import { frameBytes, jsonArrayFrame, newId as randomId, type Frame } from '../event/payload.ts'

/** The options of every batch. */
export const limitShape = {
  maxCount: withDefault(limit('members'), 20),
  maxBytes: withDefault(limit('bytes'), 500_000),
  maxDelay: withDefault(timeLimit, 5_000),
  delayFrom: withDefault(oneOf('firstItem', 'lastFlush'), 'firstItem'),
  maxKeys: withDefault(limit('keys'), 1_000),
  by: optional(func()),
  flush: optional(guarded('an Observable', isObservable)),
  clock: withDefault(clockOption, systemClock),
  newId: withDefault(func<() => string>(), randomId),
  abandoned: optional(func()),
  sizeOf: optional(func()),
}

const isFrame = (value: unknown): value is Frame =>
  isRecord(value) && typeof value['prefix'] === 'string' && typeof value['suffix'] === 'string'

export const payloadOptions = strict(
  { ...limitShape, frame: withDefault(guarded('a frame, { prefix, suffix }', isFrame), jsonArrayFrame) },
  ({ maxBytes, frame }) => {
    const bytes = frameBytes(frame)
    if (maxBytes > bytes) return []
    const message = `must be more than the ${String(bytes)} bytes of the frame, not ${String(maxBytes)}`
    return [{ path: 'maxBytes', message }]
  },
)
