// What the hooks of `headrace/otel` cost an event of a destination, against none: each case in a process of its own, as an SDK is for all of it.
import { context, ROOT_CONTEXT, trace } from '@opentelemetry/api'
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics'
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node'
import { makeLayer } from 'headrace'
import { webhookDestination } from 'headrace/destination'
import { telemetry } from 'headrace/otel'
import { calls } from './events.js'

/** A plan runs this many events at a time. */
const WAVE = 32
const discarding = { export: (_spans, done) => done({ code: 0 }), shutdown: async () => undefined }

/** Sends events of a caller in a context: `flags` are those of its trace. */
const sending = (options, flags) => (given) => {
  const how = typeof options === 'function' ? options() : options
  const destination = webhookDestination({ webhooks: [{ url: given.url }] }, { logger: false, ...how })
  const events = calls('middle')
  const spanContext = { traceId: '1'.repeat(32), spanId: '2'.repeat(16), traceFlags: flags ?? 0 }
  const caller = flags === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, spanContext)
  return async (units) => {
    for (let sent = 0; sent < units; sent += WAVE) {
      const length = Math.min(WAVE, units - sent)
      const some = Array.from({ length }, (_, n) => events[(sent + n) % events.length])
      await Promise.all(some.map((event) => context.with(caller, () => destination.send(event))))
      await destination.idle()
    }
  }
}

/** The context manager of an SDK has a price of its own: on Node 20 each promise pays for it. */
const registered = () => {
  new NodeTracerProvider({ spanProcessors: [new BatchSpanProcessor(discarding)] }).register()
  return {}
}
const traced = () => {
  registered()
  const { layer, meta } = telemetry()
  return { layer, meta }
}
class NoReader extends MetricReader {
  onForceFlush = async () => undefined
  onShutdown = async () => undefined
}
const meterOf = () => new MeterProvider({ readers: [new NoReader()] }).getMeter('bench')

/** The floor: the same three measurements with attributes that are never built. What is left is the SDK's own. */
const byHand = ({ url }) => {
  const meter = meterOf()
  const [duration, sent] = [meter.createHistogram('duration'), meter.createCounter('sent')]
  const outcomes = meter.createCounter('outcomes')
  const attempt = {
    'messaging.system': 'headrace',
    'messaging.operation.name': 'send',
    'messaging.operation.type': 'send',
    'messaging.destination.name': url,
    'headrace.part': 'destination',
  }
  const ended = { 'headrace.part': 'destination', outcome: 'Delivered' }
  const onEvent = (event) => {
    if (event._tag === 'Attempted') {
      duration.record(event.duration / 1_000, attempt)
      sent.add(1, attempt)
    } else if (event._tag === 'Ended') outcomes.add(1, ended)
  }
  return sending({ onEvent })({ url })
}

export const cases = {
  'no hooks': sending({}),
  'an idle layer': sending({ layer: (sink) => makeLayer(sink, (subscribe) => subscribe) }),
  'a listener that does nothing': sending({ onEvent: () => undefined }),
  'metrics by hand': byHand,
  metrics: sending(() => ({ onEvent: telemetry({ meter: meterOf() }).onEvent })),
  'traces and metrics without an SDK': sending(() => telemetry()),
  'an SDK, no hooks': sending(registered, 1),
  'traces, not sampled': sending(traced, 0),
  'traces, all sampled': sending(traced, 1),
}

export const plans = [
  {
    cases: Object.keys(cases),
    apart: true,
    ports: 1,
    requests: 1,
    units: 640,
    rounds: 60,
    warmUp: 60,
    bases: {
      metrics: 'metrics by hand',
      'traces, not sampled': 'an SDK, no hooks',
      'traces, all sampled': 'an SDK, no hooks',
    },
    limits: {
      ...{ 'an idle layer': 1.05, metrics: 1.05, 'traces and metrics without an SDK': 1.05 },
      ...{ 'traces, not sampled': 1.05, 'traces, all sampled': 1.6 },
    },
  },
]
