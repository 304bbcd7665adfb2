/** Bugs of a sink over a client with callbacks, such as that of Kafka, are found. */
import { left, right } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { refused, retryable, sink, type Failure, type Verdict } from '../../../src/index.ts'
import { registerLaws, reportOf, sinkLaws, type SinkItem } from '../../../src/testing/laws/index.ts'
import type { MakeSink } from '../../../src/testing/laws/sinkWorld.ts'

type Report = (Error & { readonly status?: number }) | null

interface Parts {
  readonly textOf?: (item: SinkItem) => string
  readonly verdictOf?: (error: Report) => Verdict
  /** What is told when it is sent, before the report. */
  readonly early?: Verdict
  readonly timeout?: number
  readonly cancels?: boolean
}

const failureOf = ({ status = 0 }: { readonly status?: number }): Failure =>
  status >= 300 && status < 500 && status !== 429 ? refused('status', { status }) : retryable('broker')
const delivered = right({ sink: 'queue' })
const judge = (error: Report): Verdict => (error === null ? delivered : left(failureOf(error)))

const queueSink =
  ({
    textOf = JSON.stringify,
    verdictOf = judge,
    early,
    timeout = 5_000,
    cancels = true,
  }: Parts): MakeSink<SinkItem> =>
  ({ network }) =>
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

describe('a right one', () => registerLaws({ test: it }, sinkLaws(queueSink({}))))

const bugs: Readonly<Record<string, readonly [law: string, bug: Parts]>> = {
  'acknowledges before the report': ['delivered-if-accepted', { early: delivered }],
  'ignores the error': ['delivered-if-accepted', { verdictOf: () => delivered }],
  'takes all errors for final': [
    'failed-is-retryable',
    { verdictOf: (error) => (error === null ? delivered : left(refused('broker'))) },
  ],
  'takes all errors for passing': [
    'refused-is-final',
    { verdictOf: (error) => (error === null ? delivered : left(retryable('broker'))) },
  ],
  'has no time limit': ['settles', { timeout: Infinity }],
  'does not pass a cancel on': ['cancel-aborts', { cancels: false }],
  'sends [object Object]': ['sends-the-item', { textOf: String }],
}
it.each(Object.entries(bugs))('one that %s is found', async (_, [id, bug]) => {
  const laws = sinkLaws(queueSink(bug)).filter((each) => each.id === `sink/${id}`)
  for (const seed of [1, 2, 3]) {
    const reports = await Promise.all(laws.map((each) => reportOf(each, { runs: 100, seed })))
    expect(reports.map(({ result }) => result)).toEqual(['broken'])
  }
})
