/** Asks servers that answer as a test says for their verdict on messages. */
import { afterEach, expect } from 'vitest'
import type { Payload } from '../../src/event/payload.ts'
import type { Failure, Verdict } from '../../src/core/failure.ts'
import { ingestion, type IngestionOptions } from '../../src/http/ingestion.ts'
import { socketsOpen, until } from './laneKit.ts'
import { type BatchServer, batch, batchServer, type Reply, type Request } from './batchServer.ts'
import { deliverOnce } from '../sink/deliverOnce.ts'

/** What asks servers. */
export interface Asked {
  readonly serve: (reply: (request: Request, index: number) => Reply) => Promise<BatchServer>
  readonly sinkTo: (server: BatchServer, options?: IngestionOptions) => ReturnType<typeof ingestion>
  /** The verdict on a payload, three messages by default, when the server answers so. */
  readonly verdictOn: (reply: Reply, payload?: Payload<unknown>) => Promise<Verdict>
  readonly failureOn: (reply: Reply) => Promise<Failure>
}

/** The write key. */
export const KEY = 'hunter2'

/** To be called once, at the top of a file: after each of its tests all are closed, and no socket is left. */
export const asking = (): Asked => {
  const cleaners: Array<() => Promise<unknown>> = []
  afterEach(async () => {
    for (const clean of cleaners.splice(0).reverse()) await clean()
    await until(() => socketsOpen() === 0)
  })

  const serve: Asked['serve'] = async (reply) => {
    const server = await batchServer(reply)
    cleaners.push(server.close)
    return server
  }

  const sinkTo: Asked['sinkTo'] = (server, options) => {
    const sink = ingestion(server.origin, KEY, options)
    cleaners.push(sink.close(0))
    return sink
  }

  const verdictOn: Asked['verdictOn'] = async (reply, payload = batch('a', 'b', 'c')) => {
    const server = await serve(() => reply)
    const { verdicts, end } = await deliverOnce(sinkTo(server), payload)
    expect([verdicts.length, end]).toEqual([1, 'complete'])
    const [verdict] = verdicts
    if (verdict === undefined) throw new Error('no verdict')
    return verdict
  }

  return {
    serve,
    sinkTo,
    verdictOn,
    failureOn: async (reply) => {
      const verdict = await verdictOn(reply)
      if (verdict._tag === 'Right') throw new Error('it was delivered')
      return verdict.left
    },
  }
}
