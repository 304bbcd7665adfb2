import type { Account } from './account.ts'
import { callOf } from './messages.js'

/** Posts messages in batches to a collector that comes and goes. */
export interface Batches {
  /** The collector listens here. */
  readonly up: (endpoint: string) => void
  /** Resolves when every message is in a batch that was answered with 200. */
  readonly acknowledged: Promise<void>
}

export interface BatchesOptions {
  readonly names: ReadonlyArray<string>
  readonly account: Account
  /** Messages in a post. */
  readonly size: number
  /** Posts at a time. */
  readonly posts: number
}

const AGAIN = 1_000

/** A sender that remembers what was answered with 200, and repeats what had no answer, the same bytes. */
export const batches = ({ names, account, size, posts }: BatchesOptions): Batches => {
  const queue: Array<ReadonlyArray<string>> = []
  for (let at = 0; at < names.length; at += size) queue.push(names.slice(at, at + size))
  let endpoint: string | undefined
  let listening: Array<() => void> = []
  let unanswered = queue.length

  const nextUp = (): Promise<void> => new Promise((resolve) => listening.push(resolve))

  const known = async (): Promise<string> => {
    while (endpoint === undefined) await nextUp()
    return endpoint
  }

  /** Until it is started again. Not every failure is a kill, so it tries once more after a while. */
  const isBack = (): Promise<void> =>
    Promise.race([nextUp(), new Promise<void>((resolve) => setTimeout(resolve, AGAIN))])

  /** Whether it was answered with 200. An answer that is neither that nor "later" is a fault of the test or of the collector. */
  const post = async (batch: ReadonlyArray<string>): Promise<boolean> => {
    const url = await known()
    for (const name of batch) account.offered(name)
    try {
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', Authorization: `Basic ${btoa('wk:')}` },
        body: JSON.stringify({ batch: batch.map(callOf) }),
      })
      const answer = await response.text()
      if (response.status === 503) {
        await isBack()
        return false
      }
      if (response.status !== 200 || answer.includes('"ok":false'))
        throw new Error(`${String(response.status)}: ${answer}`)
      return true
    } catch (error) {
      // What fetch throws when there is no answer.
      if (!(error instanceof TypeError)) throw error
      await isBack()
      return false
    }
  }

  const work = async (): Promise<void> => {
    for (let batch = queue.shift(); batch !== undefined; batch = queue.shift()) {
      if (await post(batch)) {
        unanswered--
        for (const name of batch) account.acknowledged(name)
      } else queue.unshift(batch)
    }
  }

  const all = async (): Promise<void> => {
    await Promise.all(Array.from({ length: posts }, work))
    if (unanswered > 0) throw new Error(`${String(unanswered)} posts were not answered`)
  }
  const acknowledged = all()
  // Whoever waits for it hears it; until then it is nobody's.
  acknowledged.catch(() => undefined)

  return {
    up: (url) => {
      endpoint = url
      for (const go of listening) go()
      listening = []
    },
    acknowledged,
  }
}
