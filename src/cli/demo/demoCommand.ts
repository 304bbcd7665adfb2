import { Readable } from 'node:stream'
import { systemClock } from '../../clock/Clock.ts'
import type { Settings } from '../../destination/Settings.ts'
import { both, deadline, exponential, fullJitter } from '../../policy/RetryPolicy.ts'
import { secretFrom } from '../../signing/Secret.ts'
import { ndjson } from '../../sources/ndjson.ts'
import { seededRandom } from '../../testing/seededRandom.ts'
import { FAULT, FINE, USAGE } from '../ExitCode.ts'
import { eventOf } from '../listen/eventOf.ts'
import { judge } from '../listen/judge.ts'
import { openReceiver } from '../listen/openReceiver.ts'
import type { Answer, Arrived, OpenReceiver } from '../listen/openReceiver.ts'
import { OUTPUTS } from '../output/Output.ts'
import type { Output } from '../output/Output.ts'
import { toJson } from '../output/Report.ts'
import { reporter } from '../output/reporter.ts'
import { packageVersion } from '../packageVersion.ts'
import { forward } from '../forward/forward.ts'
import { toWebhooks } from '../send/toWebhooks.ts'
import { stopSignals } from '../stopSignals.ts'
import { show } from '../Summary.ts'
import type { Summary } from '../Summary.ts'
import type { Terminal } from '../Terminal.ts'
import { parseChoice } from '../values/parseChoice.ts'
import { MOODS, moodOf } from './moodOf.ts'
import type { Receiver } from './moodOf.ts'
import { sample } from './sample.ts'
import * as Story from './Story.ts'

/** Flags as commander hands them over. */
export interface DemoFlags {
  readonly output: string
}

/** Milliseconds between two lines, so that eyes can follow. */
const PACE = 40
/** Milliseconds for one attempt, far less than the 5 s of real life: a demo is short. */
const TIMEOUT = 500
const RECEIVERS: ReadonlyArray<Receiver> = ['flaky', 'slow']

const secret = secretFrom('a secret that both sides know')

const pause = (): Promise<void> =>
  new Promise((resolve) => {
    systemClock.schedule(PACE, resolve)
  })

const atAPace = async function* (lines: ReadonlyArray<string>): AsyncGenerator<string> {
  for (const line of lines) {
    await pause()
    yield `${line}\n`
  }
}

/** The sum of an order, if there is one: the receivers look at nothing else. */
const isAbsurd = (body: Buffer): boolean => body.includes('"total":-')

interface Stage {
  readonly receivers: ReadonlyArray<OpenReceiver>
  readonly settings: Settings
  readonly nameOf: (url: string) => string
  readonly story: () => Story.Story
  readonly watch: (change: (story: Story.Story) => Story.Story) => void
}

const openStage = async (): Promise<Stage> => {
  let story = Story.beginning
  const times = new Map<string, number>()
  const key = secret._tag === 'Right' ? secret.right : undefined

  const behave =
    (receiver: Receiver) =>
    (arrived: Arrived): Answer => {
      story = Story.received(story, judge(key, arrived).verdict === 'authentic')
      const id = eventOf(arrived.body).id ?? arrived.body.toString('utf8').slice(0, 60)
      const time = (times.get(`${receiver} ${id}`) ?? 0) + 1
      times.set(`${receiver} ${id}`, time)
      return moodOf(receiver, id, time, isAbsurd(arrived.body))
    }

  const receivers = await Promise.all(RECEIVERS.map((receiver) => openReceiver(0, behave(receiver))))
  const urls = receivers.map(({ url }, at) => `${url}${RECEIVERS[at] ?? ''}`)
  return {
    receivers,
    settings: { ...(key === undefined ? {} : { sharedSecret: key }), webhooks: urls.map((url) => ({ url })) },
    nameOf: (url) => RECEIVERS[urls.indexOf(url)] ?? url,
    story: () => story,
    watch: (change) => {
      story = change(story)
    },
  }
}

const introduce = ({ settings }: Stage, lines: number, { out }: Terminal): void => {
  const say = (text: string): void => {
    out.line(text)
  }
  say(`ready ${settings.webhooks.map(({ url }) => url).join(' ')}`)
  say('')
  say(
    `headrace ${packageVersion()} delivers events as signed webhooks. Here are two receivers, both on this machine:`,
  )
  for (const receiver of RECEIVERS) say(`  ${out.paint('bold', receiver.padEnd(6))} ${MOODS[receiver]}`)
  say(
    `${String(lines)} lines come in. Each event is sent to both, and is delivered when one of them has answered 2xx.`,
  )
  say(
    'If both fail it waits a little and is tried again. Two lines are wrong on purpose, and one event that nobody wants.',
  )
  say('')
}

const conclude = (stage: Stage, summary: Summary, { out }: Terminal): void => {
  out.line('')
  for (const [title, text] of Story.tell(stage.story(), summary, stage.nameOf))
    out.line(`${out.paint('bold', title.padEnd(9))} ${text}`)
  out.line('')
  out.line('Now with an event of your own. Start a receiver with')
  out.line('  npx headrace listen 7412')
  out.line('and in another terminal:')
  out.line(
    `  echo '{"type":"track","userId":"u1","event":"Hello"}' | npx headrace send --to http://127.0.0.1:7412/hook`,
  )
}

const play = async (output: Output, terminal: Terminal): Promise<number> => {
  const stage = await openStage()
  const stop = stopSignals()
  const lines = sample()
  const write = reporter(terminal, output, stage.nameOf)
  if (output === 'lines') introduce(stage, lines.length, terminal)
  if (output === 'json')
    terminal.out.line(toJson({ t: 'ready', urls: stage.settings.webhooks.map(({ url }) => url) }))
  const { done } = forward({
    lines: ndjson(Readable.from(atAPace(lines))),
    open: toWebhooks({
      settings: stage.settings,
      destination: {
        timeout: TIMEOUT,
        retry: both(fullJitter(exponential({ base: 600 })), deadline(8_000)),
        random: seededRandom(20),
        logger: false,
      },
      maxWaiting: 1_000,
    }),
    grace: 2_000,
    stop,
    report: (report) => {
      stage.watch((story) => Story.reported(story, report))
      write(report)
    },
    undelivered: () => undefined,
    broken: () => undefined,
    caughtUp: terminal.out.caughtUp,
  })
  const { summary } = await done
  await Promise.all(stage.receivers.map((receiver) => receiver.close()))
  stop.release()
  if (output === 'lines') conclude(stage, summary, terminal)
  else if (output === 'json') terminal.out.line(toJson({ t: 'summary', ...summary }))
  else terminal.err.line(`headrace: ${show(summary)}`)
  return Story.endedWell(stage.story(), summary) ? FINE : FAULT
}

/** `headrace demo`: everything that the library does, on this machine alone. Answers the exit code. */
export const demoCommand = async (flags: DemoFlags, terminal: Terminal): Promise<number> => {
  const output = parseChoice('--output', flags.output, OUTPUTS)
  if (output._tag === 'Right') return play(output.right, terminal)
  for (const sentence of output.left) terminal.err.line(`headrace demo: ${sentence}`)
  return USAGE
}
