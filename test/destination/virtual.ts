/** A destination on a virtual clock. Its URLs are scripted sinks instead of HTTP. */
import { left, right } from 'fp-ts/lib/Either.js'
import type { DestinationOptions } from '../../src/destination/destination.ts'
import { openDestination, type OpenDestination } from '../../src/destination/createDestination.ts'
import { urlsSink } from '../../src/destination/urls.ts'
import { destinationOptions } from '../../src/destination/settings.ts'
import { checkOptions } from '../../src/core/options.ts'
import { refused, retryable, type Outcome, type Sink, type Verdict, type Payload } from '../../src/index.ts'
import { exponential } from '../../src/policy/index.ts'
import type { TrackCall, Event } from '../../src/event/index.ts'
import type { LogEvent } from '../../src/log/index.ts'
import { scriptedSink, type Reply } from '../../src/testing/scriptedSink.ts'
import { virtualClock, type VirtualClock } from '../../src/testing/virtualClock.ts'

export const yes: Verdict = right({ sink: 'url', status: 200 })
export const busy: Verdict = left(retryable('status', { status: 503 }))
export const gone: Verdict = left(refused('status', { status: 410 }))

export const track = (id: string, userId = 'u'): TrackCall => {
  return { type: 'track', userId, event: 'Seen', messageId: id }
}

type Urls = ReadonlyArray<Sink<Payload<Event>>>
export const openOver = (urls: Urls, options: DestinationOptions = {}): OpenDestination => {
  const checked = checkOptions('options', destinationOptions, options)
  return openDestination(() => urlsSink(urls, checked), true, checked)
}

export type Answer = (id: string, number: number, index: number) => Reply

type Options = DestinationOptions | ((clock: VirtualClock) => DestinationOptions)
export const open = (answers: ReadonlyArray<Answer>, options: Options = {}, close?: () => Promise<void>) => {
  const clock = virtualClock()
  const outcomes: Array<Outcome<Payload<Event>>> = []
  const told: LogEvent[] = []
  const urls = answers.map((answer, at) => {
    const sink = scriptedSink<Payload<Event>>({
      name: `url${String(at)}`,
      clock,
      reply: ({ id }, { number }, index) => answer(id, number, index),
    })
    return close === undefined ? sink : Object.assign(sink, { close })
  })
  const destination = openOver(urls, {
    clock,
    random: () => 0,
    logger: false,
    retry: exponential(),
    onEvent: (happening) => told.push(happening),
    ...(typeof options === 'function' ? options(clock) : options),
  })
  destination.outcomes$.subscribe((outcome) => outcomes.push(outcome))
  return {
    clock,
    destination,
    urls,
    outcomes,
    told,
    ended: () => outcomes.map(({ _tag, item }) => `${_tag} ${item.id}`),
    defects: () => told.flatMap((happening) => (happening._tag === 'Defect' ? [happening.where] : [])),
  }
}
