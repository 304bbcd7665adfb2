/** The trace of an event as text beside it, in the form of W3C Trace Context. */
import { createTraceState, isSpanContextValid, TraceFlags, type SpanContext } from '@opentelemetry/api'
import { isRecord } from '../core/json.ts'
import { isMeta, type Meta } from '../event/payload.ts'

const TRACEPARENT = /^(?!ff)[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(?:-.*)?$/

/** A `meta` of more than 1,024 bytes would be left out, and the trace with it. */
const MAX_STATE = 512

export const isSampled = ({ traceFlags }: SpanContext): boolean => (traceFlags & TraceFlags.SAMPLED) !== 0

/** The headers of a trace. Undefined for the invalid one of a tracer without an SDK. */
export const toHeaders = (trace: SpanContext | undefined): Meta | undefined => {
  if (trace === undefined || !isSpanContextValid(trace)) return undefined
  const traceparent = `00-${trace.traceId}-${trace.spanId}-${isSampled(trace) ? '01' : '00'}`
  const tracestate = trace.traceState?.serialize() ?? ''
  return tracestate === '' || tracestate.length > MAX_STATE ? { traceparent } : { traceparent, tracestate }
}

/** The trace that headers name, by a function that reads them. */
export const fromHeaders = (get: (name: string) => string | null | undefined): SpanContext | undefined => {
  const [, traceId = '', spanId = '', flags = ''] = TRACEPARENT.exec(get('traceparent') ?? '') ?? []
  const trace = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true }
  if (!isSpanContextValid(trace)) return undefined
  const state = get('tracestate')
  return state === undefined || state === null ? trace : { ...trace, traceState: createTraceState(state) }
}

/** Items of a batch. `items` of an event that waits is not read: it is parsed from its text at each look. */
export const batchMembers = (item: unknown): ReadonlyArray<unknown> | undefined => {
  if (isRecord(item) && !('closedBy' in item)) return undefined
  const { members, items } = isRecord(item) ? item : { members: item, items: undefined }
  return [members, items].find((each): each is ReadonlyArray<unknown> => Array.isArray(each))
}

/** A trace that is not sampled, as `toHeaders` writes it. */
const UNSAMPLED = /^00-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-00$/

export const traceOf = (item: unknown): SpanContext | undefined => {
  const meta = isRecord(item) ? item['meta'] : undefined
  const { traceparent: text, tracestate } = isRecord(meta) ? meta : {}
  // Most traces may be of this kind: one look, and no lists.
  if (tracestate === undefined && typeof text === 'string' && UNSAMPLED.test(text))
    return { traceId: text.slice(3, 35), spanId: text.slice(36, 52), traceFlags: 0, isRemote: true }
  return isMeta(meta) ? fromHeaders((name) => meta[name]) : undefined
}
