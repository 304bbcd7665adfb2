/** `headrace/otel`: traces and metrics of OpenTelemetry. @module */
import diagnostics from 'node:diagnostics_channel'
import { context, metrics, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import type { Context, Meter, Span, Tracer, TracerProvider } from '@opentelemetry/api'
import { left } from '../core/either.ts'
import { retryable, type Verdict } from '../core/failure.ts'
import { isRecord } from '../core/json.ts'
import { checkOptions, flag, methods, oneOf, optional, strict, withDefault } from '../core/options.ts'
import { version } from '../core/package.ts'
import type { Listener, LogEvent } from '../log/logEvent.ts'
import { makeLayer } from '../sink/layer.ts'
import { nowOf, partOf, SHARED, type Layer } from '../sink/sink.ts'
import { errorTypeOf, metricsOf, operation, VERSIONS } from './metrics.ts'
import { fromHeaders, isSampled, batchMembers, toHeaders, traceOf } from './traceContext.ts'

/** Options of `telemetry`. Every one may be left out. */
export interface TelemetryOptions {
  /** Default: that of the registered provider. */
  readonly tracer?: Tracer
  /** Default: that of the provider that is registered when `telemetry` is called. */
  readonly meter?: Meter
  /** The version of the messaging conventions, which are not stable yet. Default `1.45`. */
  readonly conventions?: '1.27' | '1.45'
  /**
   * Whether requests get `traceparent` and `tracestate` of their attempt. Default: unless something listens
   * to undici's requests, as its instrumentation does, which adds its own.
   */
  readonly headers?: boolean
}

/** Options of a destination, a client or a collector. */
export interface Telemetry {
  /** Measures attempts, and counts messages, outcomes and refusals. */
  readonly onEvent: Listener
  /** Makes a span of each attempt. */
  readonly layer: Layer
  /** Makes a span of a call, below that of the caller or else that of the headers. Answers its trace. */
  readonly meta: (
    event: unknown,
    headers?: { readonly get: (name: string) => string | null | undefined },
  ) => Readonly<Record<string, string>> | undefined
}

const telemetryOptions = strict({
  tracer: optional(methods<Tracer>('a Tracer', 'startSpan')),
  meter: optional(methods<Meter>('a Meter', 'createHistogram', 'createCounter')),
  conventions: withDefault(oneOf('1.27', '1.45'), '1.45'),
  headers: optional(flag),
})

const undiciRequests = diagnostics.channel('undici:request:create')

const CREATE = { kind: SpanKind.PRODUCER, attributes: operation('create', 'create', {}) }

/** Whether an SDK is registered: the proxy of the API has a tracer of it then. */
const hasSdk = (): boolean => {
  const provider: TracerProvider & { getDelegateTracer?(name: string): unknown } = trace.getTracerProvider()
  return provider.getDelegateTracer === undefined || provider.getDelegateTracer('headrace') !== undefined
}

const metaBy = (tracer: Tracer, records: () => boolean): Telemetry['meta'] => {
  return (event, headers) => {
    const active = context.active()
    const own = trace.getSpanContext(active)
    const parent = own ?? (headers && fromHeaders((name) => headers.get(name)))
    // Asked first: a span that is not recorded would be built to be thrown away.
    if ((parent !== undefined && !isSampled(parent)) || !records()) return toHeaders(parent)
    const under = own === undefined && parent ? trace.setSpanContext(ROOT_CONTEXT, parent) : active
    const span = tracer.startSpan('create', CREATE, under)
    if (span.isRecording() && isRecord(event) && typeof event['messageId'] === 'string')
      span.setAttribute('messaging.message.id', event['messageId'])
    // At once: the outcome may be hours away.
    span.end()
    return toHeaders(span.spanContext())
  }
}

const layerBy = (tracer: Tracer, records: () => boolean, type: string, sends: boolean | undefined): Layer => {
  const open = (sink: string, item: unknown, number: number): Context => {
    const members = batchMembers(item)
    const own = members ? undefined : traceOf(item)
    const traces = own ? [own] : (members ?? []).flatMap((each) => traceOf(each) ?? [])
    // The fall-back is the root: the active context is that of the code that made the part.
    const parent = traces[0] === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, traces[0])
    if (traces.length > 0 && !traces.some(isSampled)) return parent
    if (!records()) return members ? ROOT_CONTEXT : parent
    const attributes = operation('send', type, { 'messaging.destination.name': sink })
    const links = members ? traces.map((each) => ({ context: each })) : []
    const how = { kind: SpanKind.CLIENT, attributes, links }
    const span = tracer.startSpan(`send ${sink}`, how, members ? ROOT_CONTEXT : parent)
    if (span.isRecording()) {
      const { id, byteLength } = isRecord(item) ? item : {}
      span.setAttribute('headrace.attempt', number)
      if (members) span.setAttribute('messaging.batch.message_count', members.length)
      else if (typeof id === 'string') span.setAttribute('messaging.message.id', id)
      if (typeof byteLength === 'number') span.setAttribute('messaging.message.body.size', byteLength)
    }
    return trace.setSpan(ROOT_CONTEXT, span)
  }
  const close = (span: Span, verdict: Verdict): void => {
    const error = errorTypeOf(verdict)
    const answer = verdict._tag === 'Right' ? verdict.right : verdict.left
    if ('status' in answer) span.setAttribute('http.response.status_code', answer.status)
    if (error !== undefined) span.setAttribute('error.type', error).setStatus({ code: SpanStatusCode.ERROR })
    span.end()
  }

  return (sink) =>
    makeLayer(sink, (subscribe) => (item, attempt, observer) => {
      const { report } = attempt
      let inner = ROOT_CONTEXT
      let span: Span | undefined
      const safely = (f: () => void): void => {
        try {
          f()
        } catch (error) {
          report?.({ _tag: 'Defect', at: nowOf(attempt), from: partOf(attempt), where: 'otel', error })
        }
      }
      safely(() => (span = trace.getSpan((inner = open(sink.name, item, attempt.number)))))
      // Verdicts and log events are the part's: they leave the context of the span.
      const outer = context.active()
      if (inner === outer) return subscribe(item, attempt, observer)
      let added: ReturnType<typeof toHeaders>
      if (sends ?? !undiciRequests.hasSubscribers) safely(() => (added = toHeaders(span?.spanContext())))
      const end = (verdict: Verdict): void => {
        const ending = span
        span = undefined
        safely(() => ending?.isRecording() && close(ending, verdict))
      }
      const leave = <A>(f: (given: A) => void, given: A): void => {
        if (context.active() === outer) f(given)
        else context.with(outer, f, undefined, given)
      }
      const tell = report && ((event: LogEvent): void => leave(report, event))
      const { number, until, lastFailure, clock, from, headers: given = added, [SHARED]: shared } = attempt
      const all = added && given !== added ? { ...given, ...added } : given
      // A spread doubles the time of a delivery.
      const passed = { number, until, lastFailure, clock, from, report: tell, headers: all, [SHARED]: shared }
      const cancel = context.with(inner, () =>
        subscribe(item, passed, {
          next: (verdict) => {
            end(verdict)
            leave((given) => observer.next(given), verdict)
          },
          complete: () => leave(() => observer.complete(), undefined),
          error: (defect) => {
            end(left(retryable('defect')))
            leave((given) => observer.error(given), defect)
          },
        }),
      )
      return () => {
        cancel()
        end(left(retryable('cancelled')))
      }
    })
}

/**
 * Traces and metrics of OpenTelemetry. A call has a span, and each attempt has one below it, also after hours
 * and a restart: the trace is stored in `meta` of the event. The span of a batch has links to those of its
 * members. Requests carry the trace of their attempt. A trace that is not sampled makes no spans.
 *
 * Without an SDK nothing is recorded. If a tracer throws, the delivery goes on, with a `Defect`. It needs the
 * package `@opentelemetry/api`.
 *
 * @throws ConfigError for wrong options.
 *
 * @example
 * import { webhookDestination } from 'headrace/destination'
 * import { telemetry } from 'headrace/otel'
 *
 * const destination = webhookDestination({ webhooks: [{ url: 'https://receiver.example' }] }, telemetry())
 */
export const telemetry = (options: TelemetryOptions = {}): Telemetry => {
  const checked = checkOptions('options of telemetry', telemetryOptions, options)
  const { tracer = trace.getTracer('headrace', version), meter, headers } = checked
  const words = VERSIONS[checked.conventions]
  let isRecording = checked.tracer !== undefined
  // An SDK may be registered at any time.
  const records = (): boolean => (isRecording ||= hasSdk())
  return {
    onEvent: metricsOf(meter ?? metrics.getMeter('headrace', version), words),
    layer: layerBy(tracer, records, words.type, headers),
    meta: metaBy(tracer, records),
  }
}
