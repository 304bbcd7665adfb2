/** A sink over a client with callbacks, such as that of Kafka. */
import { left, right } from 'fp-ts/lib/Either.js'
import { describe, it } from 'vitest'
import { refused, retryable, sink, type Verdict } from '../../../src/index.ts'
import { registerLaws, sinkLaws, type SinkItem } from '../../../src/testing/laws/index.ts'

type Report = (Error & { readonly status?: number }) | null

const verdictOf = (error: Report): Verdict => {
  if (error === null) return right({ sink: 'queue' })
  const { status = 0 } = error
  const isFinal = status >= 300 && status < 500 && status !== 429
  return left(isFinal ? refused('status', { status }) : retryable('broker'))
}

describe('a sink over callbacks', () => {
  const laws = sinkLaws(({ network }) =>
    sink(
      'queue',
      (item: SinkItem, { signal }) =>
        new Promise<Verdict>((resolve) => {
          const request = { url: 'queue:items', body: JSON.stringify(item) }
          const cancel = network.callback(request, (error) => resolve(verdictOf(error)))
          signal.addEventListener('abort', cancel)
        }),
      { timeout: 5_000 },
    ),
  )
  registerLaws({ test: it }, laws)
})
