// Sends through each part with the instrumentation of undici, and prints what arrived as JSON: it changes the whole process.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { context, ROOT_CONTEXT, trace } from '@opentelemetry/api'
import { UndiciInstrumentation } from '@opentelemetry/instrumentation-undici'
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node'
import { batch, deliver, encode, lift, sink as writer, withObserver } from 'headrace'
import { createClient } from 'headrace/client'
import { createCollector } from 'headrace/collector'
import { webhookDestination } from 'headrace/destination'
import { allListeners } from 'headrace/log'
import { telemetry } from 'headrace/otel'
import { exponential } from 'headrace/policy'
import { webhook } from 'headrace/sinks/webhook'
import { loopbackReceiver } from 'headrace/testing'
import { lastValueFrom, of, Subject } from 'rxjs'

const exporter = new InMemorySpanExporter()
const tracerProvider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
tracerProvider.register()
const undici = new UndiciInstrumentation()
undici.setTracerProvider(tracerProvider)
const tracer = tracerProvider.getTracer('test')
const tags = new Set()
const hooks = () => {
  const { onEvent, ...more } = telemetry()
  const told = ({ _tag }) => tags.add(trace.getSpan(context.active()) === undefined ? _tag : `${_tag} inside`)
  return { ...more, onEvent: allListeners(onEvent, told) }
}
/** Each caller has a span of its own, and all of them are under way together. */
const callers = (count, call) =>
  Promise.all(
    Array.from({ length: count }, (_, n) =>
      tracer.startActiveSpan(`call m${n}`, async (span) => {
        await call({ type: 'track', userId: 'u', event: 'Sold', messageId: `m${n}` })
        span.end()
      }),
    ),
  )
const failing = (count) => Array.from({ length: count }, () => ({ do: 'status', code: 503 }))
const quick = { retry: exponential({ base: 1 }), logger: false }
const openReceivers = (...scripts) => Promise.all(scripts.map((script) => loopbackReceiver(script)))

/** For each request the spans from its `traceparent` up to the root; a batch goes on with each link. */
const chainsOf = (receivers) => {
  const spans = new Map(exporter.getFinishedSpans().map((span) => [span.spanContext().spanId, span]))
  const upFrom = (id, traceId) => {
    const span = spans.get(id)
    if (span === undefined || span.spanContext().traceId !== traceId) return `? ${id}`
    const { parentSpanContext: parent, links } = span
    const name = span.name.replace(/ http.*/, '')
    const up = [...(parent ? [parent] : []), ...links.map((link) => link.context)]
    return [name, up.map((each) => upFrom(each.spanId, each.traceId)).join(' + ')].filter(Boolean).join(' < ')
  }
  const chains = receivers.flatMap(({ received }) =>
    received.map(({ headers, body }) => {
      const [, traceId, id, flags] = /^00-(\w{32})-(\w{16})-(\w\w)$/.exec(headers.traceparent) ?? []
      const ids = [...String(body).matchAll(/"messageId":"(\w+)"/g)].map(([, found]) => found).join()
      return `${ids}: ${flags === '01' ? upFrom(id, traceId) : `${headers.traceparent}`}`
    }),
  )
  const sends = exporter.getFinishedSpans().filter(({ name }) => name.startsWith('send'))
  const names = ['headrace.attempt', 'http.response.status_code', 'error.type']
  const attempts = sends.map(({ attributes }) => names.map((name) => attributes[name]).join())
  exporter.reset()
  return { chains: chains.sort(), attempts: attempts.sort() }
}

const byDestination = async (receivers, use, more = {}) => {
  const webhooks = receivers.map(({ url }) => ({ url }))
  const destination = webhookDestination({ webhooks }, { ...quick, ...more, ...hooks() })
  await use(destination.send)
  await destination.idle()
  await destination.close()
  return receivers
}

const scenarios = {
  destination: async () => {
    const receivers = await openReceivers(failing(20), failing(20), failing(20))
    return byDestination(receivers, (send) => callers(30, send))
  },
  client: async () => {
    const receivers = await openReceivers(failing(2))
    const client = createClient('k', { ...quick, endpoint: receivers[0].url, size: 4, ...hooks() })
    await callers(10, (event) => client.send(event))
    await client.flush()
    await client.close()
    return receivers
  },
  pipeline: async () => {
    const receivers = await openReceivers(failing(5))
    const { meta, layer, onEvent } = hooks()
    const sink = layer(webhook({ url: receivers[0].url }))
    const events = new Subject()
    const written = encode((event) => event, { meta, idOf: ({ messageId }) => messageId })
    const done = lastValueFrom(events.pipe(lift(), written, deliver(sink, { retry: quick.retry, onEvent })))
    await callers(10, async (event) => events.next(event))
    events.complete()
    await done
    const batches = new Subject()
    const outcomes = batches.pipe(lift(), written, batch({ maxCount: 2 }), deliver(sink, { onEvent }))
    const sent = lastValueFrom(outcomes)
    await callers(2, async (event) => batches.next(event))
    batches.complete()
    await sent
    await sink.close()
    // Its promises run inside the span, and its verdict comes from there.
    const mine = withObserver({ onEvent })(layer(writer('mine', () => Promise.resolve())))
    await lastValueFrom(of('item').pipe(lift(), deliver(mine)))
    return receivers
  },
  collector: async () => {
    const receivers = await openReceivers(failing(2))
    const settings = {
      sources: [{ id: 'web', writeKey: 'wk' }],
      destinations: [{ name: 'CRM', sources: ['web'], webhooks: [{ url: receivers[0].url }] }],
    }
    const collector = createCollector(settings, { ...quick, ...hooks() })
    const post = (event, headers) => {
      const body = JSON.stringify({ writeKey: 'wk', ...event })
      const type = { 'Content-Type': 'application/json' }
      const request = { method: 'POST', body, headers: { ...type, ...headers } }
      return collector.handle(new Request('http://localhost/v1/track', request))
    }
    await callers(5, (event) => post(event))
    const remote = tracer.startSpan('other process')
    const { traceId, spanId } = remote.spanContext()
    await post({ userId: 'u', event: 'Sold', messageId: 'm9' }, { traceparent: `00-${traceId}-${spanId}-01` })
    remote.end()
    await callers(1, () => post({ userId: 7 }))
    await collector.idle()
    await collector.close()
    return receivers
  },
  restart: async () => {
    const path = mkdtempSync(`${tmpdir()}/headrace-otel-`)
    const webhooks = [{ url: 'http://127.0.0.1:9/' }]
    const before = webhookDestination({ webhooks }, { ...quick, outbox: { path }, ...hooks() })
    await callers(2, before.send)
    await before.close({ timeout: 0 })
    const receivers = await byDestination(await openReceivers([]), () => undefined, { outbox: { path } })
    rmSync(path, { recursive: true })
    return receivers
  },
  unsampled: async () => {
    const spanContext = { traceId: '1'.repeat(32), spanId: '2'.repeat(16), traceFlags: 0 }
    const caller = trace.setSpanContext(ROOT_CONTEXT, spanContext)
    const event = { type: 'track', userId: 'u', event: 'Sold' }
    return byDestination(await openReceivers([]), (send) => context.with(caller, () => send(event)))
  },
}

const found = {}
for (const [name, play] of Object.entries(scenarios)) {
  const receivers = await play()
  found[name] = chainsOf(receivers)
  for (const each of receivers) await each.close()
}
undici.disable()
const plain = await scenarios.destination()
found.plain = chainsOf(plain)
for (const each of plain) await each.close()
console.log(JSON.stringify({ found, tags: [...tags].sort() }))
