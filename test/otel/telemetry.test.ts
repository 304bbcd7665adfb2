/** Traces over real servers in a process of its own, the rest with tracers and meters that are given. */
import { createTraceState, trace, type Tracer } from '@opentelemetry/api'
import { DataPointType, InMemoryMetricExporter, MeterProvider } from '@opentelemetry/sdk-metrics'
import { AggregationTemporality, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node'
import { assert, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import fc from 'fast-check'
import { left, right } from 'fp-ts/lib/Either.js'
import { webhookDestination } from '../../src/destination/index.ts'
import type { Meta } from '../../src/event/payload.ts'
import type { LogEvent } from '../../src/log/index.ts'
import { telemetry } from '../../src/otel/telemetry.ts'
import { fromHeaders, toHeaders, traceOf } from '../../src/otel/traceContext.ts'
import { exponential } from '../../src/policy/index.ts'
import { partlyFailed, refused, sink } from '../../src/index.ts'
import { onlyAttempt } from '../../src/sink/sink.ts'
import { runScript } from '../process/command.ts'
import { forAll, throwing } from '../support/check.ts'
import { receiverOf } from '../support/http.ts'

interface Report {
  readonly found: Readonly<Record<string, { chains: ReadonlyArray<string>; attempts: ReadonlyArray<string> }>>
  readonly tags: ReadonlyArray<string>
}

/** `m1: POST < send < create < call m1`, from the trace of the request up to its caller. */
const own = /^(m\d+): (POST < )?send < create < call \1$/
const ownOfBatch = (chain: string): boolean => {
  const [ids = '', up = ''] = chain.split(': ')
  const calls = ids.split(',').map((id) => `create < call ${id}`)
  return up === `POST < send < ${calls.join(' + ')}`
}

describe('with the instrumentation of undici', () => {
  let report: Report
  beforeAll(async () => {
    const { stdout } = await runScript('../otel/tracedProcess.js', [])
    report = JSON.parse(stdout) as Report
  })
  const of = (name: string) => {
    const found = report.found[name]
    assert(found !== undefined, name)
    return found
  }

  it.each([
    ['destination', 90],
    ['plain', 90],
    ['restart', 2],
  ])('%s: each request has the trace of its own attempt, below the call', (name, least) => {
    const { chains, attempts } = of(name)
    expect(chains.length).toBeGreaterThanOrEqual(least)
    expect(chains.filter((chain) => !own.test(chain))).toEqual([])
    // Without the instrumentation `traceparent` is that of the span of the attempt.
    expect(chains.filter((chain) => chain.includes('POST')).length).toBe(name === 'plain' ? 0 : chains.length)
    expect(attempts.filter((each) => !each.endsWith('network')).length).toBeGreaterThanOrEqual(chains.length)
  })

  it('client and pipeline: a batch has links to its calls', () => {
    const { chains } = of('client')
    expect(chains.length).toBeGreaterThan(4)
    expect(chains.filter((chain) => !ownOfBatch(chain))).toEqual([])
    const others = of('pipeline').chains.filter((chain) => !own.test(chain))
    const ofBoth = 'm0,m1: POST < send < create < call m0 + create < call m1'
    expect([of('pipeline').chains.filter((chain) => own.test(chain)).length, others]).toEqual([15, [ofBoth]])
  })

  it('collector: the parent is the span around the request, or the one that its headers name', () => {
    const { chains } = of('collector')
    const remote = chains.filter((chain) => chain.startsWith('m9'))
    expect(new Set(remote)).toEqual(new Set(['m9: POST < send < create < other process']))
    expect(chains.filter((chain) => !own.test(chain))).toEqual(remote)
  })

  it('an attempt says its number, its status and its error', () => {
    expect(new Set(of('destination').attempts)).toEqual(new Set(['1,503,503', '1,200,', '2,200,']))
  })

  it('a trace that is not sampled goes on, without spans', () => {
    const { chains, attempts } = of('unsampled')
    expect([chains, attempts]).toEqual([[expect.stringMatching(`: 00-${'1'.repeat(32)}-\\w{16}-00$`)], []])
  })

  it('only events of a call that is being checked are inside a span (TP1)', () => {
    const inside = report.tags.filter((tag) => tag.endsWith('inside'))
    expect(inside).toEqual(['Accepted inside', 'NotAccepted inside'])
    expect(report.tags).toEqual(expect.arrayContaining(['Attempted', 'Waiting', 'Ended', 'Restored']))
  })
})

const sold = { type: 'track', userId: 'u', event: 'Sold', messageId: 'm1' } as const

const send = async (options: ReturnType<typeof telemetry>, failures = 0) => {
  const script = Array.from({ length: failures }, () => ({ do: 'status', code: 503 }) as const)
  const receiver = await receiverOf(script)
  const told: LogEvent[] = []
  const onEvent = (event: LogEvent): void => {
    told.push(event)
    options.onEvent(event)
  }
  const how = { logger: false, retry: exponential({ base: 1 }), ...options, onEvent } as const
  const destination = webhookDestination({ webhooks: [{ url: receiver.url }] }, how)
  onTestFinished(() => destination.close({ timeout: 0 }).then(() => undefined))
  await destination.send(sold)
  // @ts-expect-error An event without a user is refused.
  await destination.send({ type: 'track' })
  await destination.idle()
  return { told, receiver, stats: destination.stats() }
}

const exported = () => {
  const exporter = new InMemorySpanExporter()
  const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  return { exporter, provider, tracer: provider.getTracer('test') }
}

describe('telemetry', () => {
  it('measures and counts by the conventions of either version', async () => {
    for (const [conventions, sent] of [
      ['1.45', 'messaging.client.sent.messages'],
      ['1.27', 'messaging.client.published.messages'],
    ] as const) {
      const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
      const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 })
      const meter = new MeterProvider({ readers: [reader] }).getMeter('test')
      const tools = telemetry({ meter, conventions })
      await send(tools, 1)
      const result = left(partlyFailed([right({ sink: 's' }), left(refused('status', { status: 400 }))]))
      const attempt = { item: ['a', 'b'], sink: 's', number: 1, startedAt: 0, duration: 1, result }
      tools.onEvent({ _tag: 'Attempted', at: 0, from: 'bulk', ...attempt })
      const outcome = { _tag: 'Delivered', item: ['a', 'b'], attempts: 1, receipt: { sink: 's' } } as const
      tools.onEvent({ _tag: 'Ended', at: 0, from: 'bulk', outcome })
      await reader.forceFlush()
      const all = exporter.getMetrics().flatMap((one) => one.scopeMetrics.flatMap(({ metrics }) => metrics))
      const points = all.flatMap(({ descriptor, dataPointType, dataPoints }) =>
        dataPoints.map(({ attributes, value }) => {
          const { 'error.type': error, outcome, reason } = attributes
          const size = dataPointType === DataPointType.HISTOGRAM ? (value as { count: number }).count : value
          return [descriptor.name, error ?? outcome ?? reason ?? '', size]
        }),
      )
      expect(points).toEqual([
        ['messaging.client.operation.duration', '503', 1],
        ['messaging.client.operation.duration', '', 1],
        ['messaging.client.operation.duration', 'PartlyFailed', 1],
        [sent, '503', 1],
        [sent, '', 1],
        [sent, '', 1],
        [sent, '400', 1],
        ['headrace.outcomes', 'Delivered', 1],
        ['headrace.outcomes', 'Delivered', 1],
        ['headrace.refusals', 'Invalid', 1],
      ])
      await reader.shutdown()
    }
  })

  it('records nothing and sends no header without an SDK', async () => {
    const { told, receiver, stats } = await send(telemetry(), 1)
    expect(receiver.received.map(({ headers }) => headers['traceparent'])).toEqual([undefined, undefined])
    expect([stats.delivered, told.filter(({ _tag }) => _tag === 'Defect')]).toEqual([1, []])
  })

  it('without an SDK a stored trace goes on as it came', async () => {
    const traceparent = `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`
    const { receiver } = await send({ ...telemetry(), meta: () => ({ traceparent }) })
    expect(receiver.received[0]?.headers['traceparent']).toBe(traceparent)
  })

  it('records with an SDK that is registered later', async () => {
    const { layer, meta } = telemetry()
    const deliver = (): void => {
      const mine = layer(sink('mine', () => Promise.resolve()))
      const running = mine.deliver({ meta: meta(sold) }, onlyAttempt).subscribe()
      running.unsubscribe()
    }
    deliver()
    const { exporter, provider } = exported()
    trace.setGlobalTracerProvider(provider)
    onTestFinished(() => trace.disable())
    deliver()
    expect(exporter.getFinishedSpans().map(({ name }) => name)).toEqual(['create', 'send mine'])
  })

  it('sends no header if headers is false', async () => {
    const { exporter, tracer } = exported()
    const { receiver } = await send(telemetry({ tracer, headers: false }))
    const names = exporter.getFinishedSpans().map(({ name }) => name.split(' ')[0])
    expect([names, receiver.received[0]?.headers['traceparent']]).toEqual([['create', 'send'], undefined])
  })

  const methods = Object.entries({ startSpan: 2, end: 2, spanContext: 4 })
  it.each(methods)('a tracer whose %s throws costs the trace and a Defect', async (where, count) => {
    const fail = throwing(where)
    const { tracer: real } = exported()
    const startSpan: Tracer['startSpan'] = (...given) =>
      where === 'startSpan' ? fail() : Object.assign(real.startSpan(...given), { [where]: fail })
    const tracer = Object.assign(Object.create(real) as Tracer, { startSpan })
    const { told, stats } = await send(telemetry({ tracer }), 1)
    const defects = told.flatMap((event) => (event._tag === 'Defect' ? [event.where] : []))
    expect([stats.delivered, defects]).toEqual([1, ['meta', ...Array<string>(count).fill('otel')]])
  })

  it('ends the span of an attempt that is cancelled', () => {
    const { exporter, tracer } = exported()
    const { layer } = telemetry({ tracer })
    const never = layer(sink('never', () => new Promise<void>(() => undefined)))
    never.deliver('item', onlyAttempt).subscribe().unsubscribe()
    expect(exporter.getFinishedSpans().map((one) => one.attributes['error.type'])).toEqual(['cancelled'])
  })

  it('refuses wrong options', () =>
    expect(() => telemetry({ tracer: {} as Tracer })).toThrow(/tracer must be a Tracer/))
})

describe('the text of a trace', () => {
  const hex = (length: number) =>
    fc
      .array(fc.constantFrom(...'0123456789abcdef'), { minLength: length, maxLength: length })
      .map((digits) => digits.join(''))
      .filter((text) => /[1-9a-f]/.test(text))
  const ids = fc.record({ traceId: hex(32), spanId: hex(16), traceFlags: fc.constantFrom(0, 1) })

  it('is read as it was written', () =>
    forAll(ids, fc.nat(1_000), (own, length) => {
      const traceState = createTraceState(`a=${'x'.repeat(length)}`)
      const written = toHeaders({ ...own, traceState })
      const read = fromHeaders((name) => written?.[name])
      expect(read).toMatchObject({ ...own, isRemote: true })
      expect(read?.traceState?.get('a')).toBe(length > 510 ? undefined : traceState.get('a'))
    }))

  it('is the same in an item, whatever stands there', () => {
    for (const traceId of ['0'.repeat(32), '1'.repeat(31), 'G'.repeat(32), '1'.repeat(32)])
      for (const spanId of ['0'.repeat(16), '2'.repeat(17), '2'.repeat(16)])
        for (const flags of ['00', '01', '02', '0', '00-more', '00\n'])
          for (const version of ['00', 'cc', 'ff'])
            for (const state of [{}, { tracestate: '' }, { tracestate: 'a=1' }]) {
              const meta: Meta = { traceparent: `${version}-${traceId}-${spanId}-${flags}`, ...state }
              expect(traceOf({ meta })).toEqual(fromHeaders((name) => meta[name]))
            }
  })
})
