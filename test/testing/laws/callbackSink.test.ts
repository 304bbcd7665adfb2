/** Bugs of a sink over a client with callbacks, such as that of Kafka, are found. */
import { left, right } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { refused, retryable, sink, type Failure, type Verdict } from '../../../src/index.ts'
import { registerLaws, reportOf, sinkLaws, type SinkItem } from '../../../src/testing/laws/index.ts'
import type { MakeSink } from '../../../src/testing/laws/sinkWorld.ts'

type Report = (Error & { readonly status?: number }) | null

const delivered = right({ sink: 'queue' })
const failureOf = ({ status = 0 }: NonNullable<Report>): Failure =>
  status >= 300 && status < 500 && status !== 429 ? refused('status', { status }) : retryable('broker')

const whole = {
  textOf: JSON.stringify as (item: SinkItem) => string,
  verdictOf: (error: Report): Verdict => (error === null ? delivered : left(failureOf(error))),
  /** Told when the item is sent, before the report. */
  early: undefined as Verdict | undefined,
  timeout: 5_000,
  cancels: true,
}

const queueSink = (bug: Partial<typeof whole>): MakeSink<SinkItem> => {
  const { textOf, verdictOf, early, timeout, cancels } = { ...whole, ...bug }
  return ({ network }) =>
    sink(
      'queue',
      (item, { signal }) =>
        new Promise<Verdict>((resolve) => {
          const cancel = network.callback({ url: 'queue:items', body: textOf(item) }, (error) =>
            resolve(verdictOf(error)),
          )
          if (early !== undefined) resolve(early)
          if (cancels) signal.addEventListener('abort', cancel)
        }),
      { timeout },
    )
}

describe('a right one', () => registerLaws({ test: it }, sinkLaws(queueSink({}))))

const final = (error: Report): Verdict => (error === null ? delivered : left(refused('broker')))
const passing = (error: Report): Verdict => (error === null ? delivered : left(retryable('broker')))

it.each<[string, law: string, Parameters<typeof queueSink>[0]]>([
  ['acknowledges before the report', 'delivered-if-accepted', { early: delivered }],
  ['ignores the error', 'delivered-if-accepted', { verdictOf: () => delivered }],
  ['takes all errors for final', 'failed-is-retryable', { verdictOf: final }],
  ['takes all errors for passing', 'refused-is-final', { verdictOf: passing }],
  ['has no time limit', 'settles', { timeout: Infinity }],
  ['does not pass a cancel on', 'cancel-aborts', { cancels: false }],
  ['sends [object Object]', 'sends-the-item', { textOf: String }],
])('one that %s is found', async (_, id, bug) => {
  const laws = sinkLaws(queueSink(bug)).filter((each) => each.id === `sink/${id}`)
  for (const seed of [1, 2, 3]) {
    const reports = await Promise.all(laws.map((each) => reportOf(each, { runs: 100, seed })))
    expect(reports.map(({ result }) => result)).toEqual(['broken'])
  }
})
