/** Broken versions beside those that are published, to see each law bite. They take as many lines as the laws: hosts need a few. */
import { chain, isLeft, left, mapLeft, orElse, right } from 'fp-ts/lib/Either.js'
import { concat, defer, finalize, from, ignoreElements, mergeMap } from 'rxjs'
import { of, onErrorResumeNextWith, share, shareReplay, tap } from 'rxjs'
import { refused, retryable, type Failure, type Verdict } from '../../src/core/failure.ts'
import { isOutcome } from '../../src/core/outcome.ts'
import type { Event } from '../../src/event/event.ts'
import type { Payload } from '../../src/event/payload.ts'
import type { Entry } from '../../src/outbox/outbox.ts'
import { step, type Step, type Wait } from '../../src/policy/step.ts'
import { sign } from '../../src/signing/secret.ts'
import { verifyRaw } from '../../src/signing/verify.ts'
import { onlyAttempt } from '../../src/sink/sink.ts'
import { inMemory } from '../../src/testing/laws/brokenOutboxes.ts'
import { ending, eventPipeline, type Events } from '../../src/testing/laws/brokenPipelines.ts'
import { breaks, policyFor } from '../../src/testing/laws/brokenPolicies.ts'
import { accepting, signing, signingAs, textOf } from '../../src/testing/laws/brokenSigners.ts'
import { changed, is5xx, sending, telling, withDelivery } from '../../src/testing/laws/brokenSinks.ts'
import { brokenVersions } from '../../src/testing/laws/law.ts'
import type { MakeOutbox, OutboxItem } from '../../src/testing/laws/outboxWorld.ts'
import type { Decide, MakePolicy } from '../../src/testing/laws/policyLaws.ts'
import { hmac, type Signing } from '../../src/testing/laws/signLaws.ts'
import { networkSink, type MakeSink, type SinkItem } from '../../src/testing/laws/sinkWorld.ts'
import type { NetworkRequest } from '../../src/testing/network.ts'
import type { World } from '../../src/testing/simulate.ts'

/** A request that the delivery does not cancel. */
const audit = ({ network }: World): Promise<unknown> => network.request().catch(() => undefined)

/** Sinks with one fault each. */
export const moreBrokenSinks = brokenVersions<MakeSink<SinkItem>>()({
  'shares one delivery between its subscriptions': {
    breaks: 'sink/each-subscription',
    make: changed((delivery) => delivery.pipe(shareReplay({ bufferSize: 2, refCount: false }))),
  },
  'waits for an answer for ever': { breaks: 'sink/settles', make: (world) => networkSink(world, Infinity) },
  'completes while a request runs': {
    breaks: 'sink/completes-last',
    make: changed((delivery, _item, world) => delivery.pipe(tap(() => void audit(world)))),
  },
  'cannot be cancelled after its verdict': {
    breaks: 'sink/cancel-aborts',
    make: changed((delivery, _item, world) =>
      delivery.pipe(mergeMap((verdict) => concat(of(verdict), from(audit(world)).pipe(ignoreElements())))),
    ),
  },
  'drops an item on a 5xx': {
    breaks: 'sink/delivered-if-accepted',
    make: telling(orElse((failure) => (is5xx(failure) ? right({ sink: 'network' }) : left(failure)))),
  },
  'takes a 2xx for a failure': {
    breaks: 'sink/delivered-if-accepted',
    make: telling(chain((): Verdict => left(retryable('status')))),
  },
  'does not read Retry-After': {
    breaks: 'sink/retry-after',
    make: telling(
      mapLeft((failure): Failure => (failure._tag === 'Retryable' ? retryable('status') : failure)),
    ),
  },
  'sends the body of the item before': {
    breaks: 'sink/sends-the-item',
    make: (world) => {
      let before: NetworkRequest = { body: '' }
      return sending((given) => {
        const { body = '' } = before
        before = given
        return { ...given, body }
      })(world)
    },
  },
  'sends each item twice': {
    breaks: 'sink/sends-the-item',
    make: changed((delivery) => concat(delivery.pipe(ignoreElements()), delivery)),
  },
  'has one cancel for all deliveries': {
    breaks: 'sink/independent',
    make: (world) => {
      const all = new AbortController()
      const { signal } = all
      return withDelivery(sending((given) => ({ ...given, signal }))(world), (delivery) =>
        delivery.pipe(finalize(() => all.abort())),
      )
    },
  },
  'sends nothing after a failure': {
    breaks: 'sink/independent',
    make: (world) => {
      let failed: Verdict | undefined
      return withDelivery(networkSink<SinkItem>(world), (delivery) =>
        defer(() => (failed === undefined ? delivery : of(failed))).pipe(
          tap((verdict) => {
            if (isLeft(verdict)) failed = verdict
          }),
        ),
      )
    },
  },
  'starts after its deadline': {
    breaks: 'sink/keeps-deadline',
    make: changed((delivery, _item, { clock }) =>
      defer(() => clock.sleep(30)).pipe(mergeMap(() => delivery)),
    ),
  },
  'leaves a timer': {
    breaks: 'sink/leaves-no-timer',
    make: changed((delivery, _item, { clock }) =>
      delivery.pipe(tap(() => void clock.schedule(60_000, () => undefined))),
    ),
  },
})

/** Signers and verifiers with one fault each. */
export const moreBrokenSigners = brokenVersions<Signing>()({
  'strips a byte order mark': signingAs((text) => text.replace(/^\ufeff/, '')),
  'turns CRLF into LF': signingAs((text) => text.replaceAll('\r\n', '\n')),
  'reads a secret of hexadecimal digits as bytes': {
    breaks: 'sign/is-hmac-sha1',
    make: signing({
      sign: (secret, body) =>
        /^([0-9a-f]{2})+$/.test(secret) ? hmac(Buffer.from(secret, 'hex'), body) : sign(secret, body),
    }),
  },
  'verifies the decoded text of bytes': {
    breaks: 'sign/round-trip',
    make: signing({ verifyRaw: (secrets, body, signature) => verifyRaw(secrets, textOf(body), signature) }),
  },
  'writes a parsed body with its keys in order': {
    breaks: 'sign/round-trip',
    make: signing({
      verifyParsed: (secrets, body, signature) =>
        verifyRaw(secrets, JSON.stringify(body, Object.keys(Object(body) as object).sort()), signature),
    }),
  },
  'does not look at white space around the body': {
    breaks: 'sign/each-bit-counts',
    make: accepting((signature, _, body, secret = '') => hmac(secret, body.trim()) === signature),
  },
  'signs with an empty secret': {
    breaks: 'sign/bad-secret',
    make: signing({ sign: (secret, body) => (secret === '' ? hmac(secret, body) : sign(secret, body)) }),
  },
  'verifies with an empty secret': {
    breaks: 'sign/bad-secret',
    make: accepting((signature, good, _, secret) => secret === '' && signature === good),
  },
  'verifies with an empty list of secrets': {
    breaks: 'sign/bad-secret',
    make: accepting((_signature, _good, _body, secret) => secret === undefined),
  },
  'decodes the digits, which drops a bad tail': {
    breaks: 'sign/malformed-signature',
    make: accepting((signature, good) => Buffer.from(signature, 'hex').equals(Buffer.from(good, 'hex'))),
  },
  'trims a signature': {
    breaks: 'sign/malformed-signature',
    make: accepting((signature, good) => signature.trim() === good),
  },
})

/** Outboxes with one fault each. */
export const moreBrokenOutboxes = brokenVersions<MakeOutbox>()({
  'ignores retriesOnly': inMemory('order', ({ lease }) => ({
    lease: (now, limits) => lease(now, { ...limits, retriesOnly: false }),
  })),
  'says a wrong due time': inMemory('wakes', ({ nextDue }) => ({
    nextDue: (retriesOnly) => (retriesOnly === true ? nextDue(true) : undefined),
  })),
  'purges all': inMemory('dead', ({ dead }) => ({ dead: { ...dead, purge: () => dead.purge(() => true) } })),
  'redrives with the old progress': inMemory('redrives', ({ dead, lease }) => {
    const old = new Map<number, Entry<OutboxItem>>()
    const remembering: Parameters<typeof dead.redrive>[0] = (one) =>
      old.set(one.entry.item.n, one.entry).size > 0
    return {
      dead: { ...dead, redrive: (matches) => dead.redrive((one) => matches(one) && remembering(one)) },
      lease: async (...given) =>
        (await lease(...given)).map((entry) => ({
          ...entry,
          progress: entry.progress ?? old.get(entry.item.n)?.progress,
        })),
    }
  }),
  'buries again at a repeated ack': inMemory('repeats', ({ ack, addDeadLetter }) => {
    const ended = new Set<string>()
    return {
      ack: async (list) => {
        const again = list.filter(({ entry }) => ended.has(entry.id))
        for (const { entry, outcome } of again) await addDeadLetter?.(entry.item, outcome)
        for (const { entry } of list) ended.add(entry.id)
        await ack(list)
      },
    }
  }),
  'keeps what it should hand back': inMemory('remaining', () => ({ takeRemaining: () => [] })),
})

/** Pipelines with one fault each. */
export const moreBrokenPipelines = brokenVersions<Events>()({
  'gives up when the first of two sinks refuses': {
    breaks: 'pipeline/tells-the-truth',
    make: (source$, sink, world) => {
      const [first = sink] = world.sinks(2)
      return eventPipeline(source$, first, world)
    },
  },
  'sends an item once more after its end': {
    breaks: 'pipeline/sends-again-in-doubt-only',
    make: (source$, sink, world) =>
      eventPipeline(source$, sink, world).pipe(
        mergeMap((end) => {
          if (!isOutcome(end)) return of(end)
          // Only payloads go into its deliver.
          const again$ = sink.deliver(end.item as Payload<Event>, onlyAttempt)
          return concat(of(end), again$.pipe(ignoreElements(), onErrorResumeNextWith()))
        }),
      ),
  },
  'leaves a timer of five hours': {
    breaks: 'pipeline/completes',
    make: (source$, sink, world) => {
      world.clock.schedule(5 * 3_600_000, () => undefined)
      return eventPipeline(source$, sink, world)
    },
  },
  'goes on after an unsubscribe': {
    breaks: 'pipeline/completes',
    make: ending(share({ resetOnRefCountZero: false })),
  },
})

/** Asks the right decision, and changes question or answer. */
const deciding =
  (decide: (ask: Decide, ...given: Parameters<Decide>) => Step): MakePolicy =>
  (asked) =>
  (...given) =>
    decide((...question) => step(policyFor(asked), ...question), ...given)

const answering = (change: (after: Step) => Step): MakePolicy =>
  deciding((ask, ...given) => change(ask(...given)))

/** Changes the answer if it is to wait. */
const waiting = (change: (after: Wait) => Partial<Wait>): MakePolicy =>
  answering((after) => (after._tag === 'Wait' ? { ...after, ...change(after) } : after))

const final = refused('status')

/** Policies with one fault each. */
export const moreBrokenPolicies = {
  ...breaks('pause-before-each-attempt', {
    'retries without a pause': waiting(({ delay, due }) => (delay > 1 ? {} : { delay: 0, due: due - 1 })),
  }),
  ...breaks('due-when-both-allow-it', {
    'names the wrong reason': waiting(() => ({ because: 'backoff' })),
  }),
  ...breaks('verdict-decides', {
    'rejects what a retry inside gave up on': answering((after) =>
      after._tag === 'Expire' ? { ...after, _tag: 'Reject' } : after,
    ),
    'takes a 429 for a final failure': deciding((ask, progress, first, verdict, ...rest) =>
      ask(progress, first, JSON.stringify(verdict).includes('429') ? left(final) : verdict, ...rest),
    ),
    'takes one final part for a final failure': deciding((ask, progress, first, verdict, ...rest) =>
      ask(progress, first, JSON.stringify(verdict).includes('"Refused"') ? left(final) : verdict, ...rest),
    ),
  }),
  ...breaks('attempts-are-counted', {
    'does not count attempts': deciding((ask, _, ...rest) => ask(undefined, ...rest)),
    'stores another failure': waiting(({ progress }) => ({ progress: { ...progress, lastFailure: final } })),
  }),
  ...breaks('pure', {
    'takes two random numbers': deciding((ask, progress, first, verdict, now, random) =>
      ask(progress, first, verdict, now, () => Math.max(random(), random())),
    ),
  }),
}
