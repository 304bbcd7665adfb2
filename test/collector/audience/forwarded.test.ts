/** An audience on its whole way: computed by a host, taken by a collector, forwarded and signed to a webhook receiver. */
import { concatMap, from, lastValueFrom, toArray } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { createCollector } from '../../../src/collector/createCollector.ts'
import type { Collector } from '../../../src/collector/collector.ts'
import { audienceSync } from '../../../src/collector/audience.ts'
import type { Members, Told } from '../../../src/collector/audience.ts'
import { loopbackReceiver } from '../../../src/testing/loopbackReceiver.ts'
import { verifyRaw } from '../../../src/signing/verify.ts'

type Stored = Told<Members>

/** A host: it stores in JSON text, as a database would, and may be stopped after so many calls. */
const syncing = async (
  collector: Collector,
  stored: { text: string },
  states: ReadonlyArray<Members>,
  calls = Infinity,
): Promise<void> => {
  // What it wrote itself.
  const told = JSON.parse(stored.text) as Stored
  let left = calls
  const run = from(states).pipe(
    audienceSync({ name: 'VIP Customers', ...told }),
    concatMap(async (sync) => {
      stored.text = JSON.stringify({ previous: [...sync.before.previous], inDoubt: [...sync.before.inDoubt] })
      for await (const call of sync.calls) {
        if (left-- <= 0) throw new Error('the process ended')
        const taken = await collector.accept('crm', call)
        expect(taken._tag).toBe('Right')
      }
      stored.text = JSON.stringify({ previous: [...sync.after.previous] })
    }),
    toArray(),
  )
  await lastValueFrom(run, { defaultValue: [] })
}

describe('an audience that is forwarded', () => {
  it('is one signed identify for each change, and the truth after a crash in the middle of a sync', async () => {
    const receiver = await loopbackReceiver()
    const collector = createCollector({
      sources: [{ id: 'crm', writeKey: 'wk' }],
      destinations: [
        { name: 'hooks', sources: ['crm'], sharedSecret: 's', webhooks: [{ url: receiver.url }] },
      ],
    })
    let read = 0
    /** What came since the last look, in no promised order. */
    const heard = async (): Promise<ReadonlyArray<unknown>> => {
      await collector.idle()
      const bodies = receiver.received.slice(read)
      read = receiver.received.length
      for (const { body, headers } of bodies) {
        expect(verifyRaw('s', body, headers['x-signature'])._tag).toBe('Right')
      }
      return bodies
        .map(({ body }) => JSON.parse(body.toString()) as Record<string, unknown>)
        .map(({ type, userId, traits }) => `${String(type)} ${String(userId)} ${JSON.stringify(traits)}`)
        .sort()
    }
    const said = (userId: string, member: boolean): string => `identify ${userId} {"vip_customers":${member}}`

    const stored = { text: '{}' }
    await syncing(collector, stored, [['ann', 'bob']])
    expect(await heard()).toEqual([said('ann', true), said('bob', true)])
    await syncing(collector, stored, [['bob', 'cid']])
    expect(await heard()).toEqual([said('ann', false), said('cid', true)])

    // It is stopped when it has not yet told that cid left.
    await expect(syncing(collector, stored, [['dora', 'eve']], 3)).rejects.toThrow('the process ended')
    expect(await heard()).toEqual([said('bob', false), said('dora', true), said('eve', true)])
    // Bob is back, which is no difference to what had been told in full; and dora is gone, who was in no state that had been.
    await syncing(collector, stored, [['bob', 'eve']])
    expect(await heard()).toEqual([
      said('bob', true),
      said('cid', false),
      said('dora', false),
      said('eve', true),
    ])
    expect(JSON.parse(stored.text)).toEqual({ previous: ['bob', 'eve'] })
    await collector.close()
    await receiver.close()
  })
})
