/** `--inspect`, `top` and `explain`: a page over a running command, and the same for terminals. */
import { counted } from '../log/debug.ts'
import { inspector, type Inspectable } from '../inspector/inspector.ts'
import type { storyOf } from '../inspector/story.ts'
import type { OptionsOf } from './flags.ts'
import { liveFrame, outputOf, type Snapshot } from './live.ts'
import { UsageError } from './options.ts'
import { showMillis, whyNot } from './report.ts'
import { FAULT, FINE, plain, stopSignals, type Terminal } from './terminal.ts'

/** Serves the page and prints its link. @throws UsageError */
export const openInspector = async (port: number, parts: ReadonlyArray<Inspectable>, { err }: Terminal) => {
  const panel = inspector(...parts)
  const { url } = await panel.listen({ port }).catch(async (error: unknown) => {
    await panel.close()
    const why = whyNot(error instanceof Error ? error.cause : error)
    throw new UsageError(`--inspect: port ${String(port)} cannot be used: ${why}; give another, or none`)
  })
  err.line(`headrace: inspect at ${url}`)
  return panel
}

const ask = async (link: URL, path: string, signal?: AbortSignal): Promise<Response> => {
  const headers = { authorization: `Bearer ${link.hash.slice('#t='.length)}` }
  const answer = await fetch(new URL(path, link), { headers, ...(signal && { signal }) }).catch(() => {
    throw new UsageError(`--inspect-env: nothing answers at ${link.host}: does the command still run?`)
  })
  if (answer.status === 401) throw new UsageError('--inspect-env: the token is wrong: each run has another')
  if (!answer.ok && answer.status !== 404)
    throw new UsageError(`--inspect-env: ${link.host} answered ${String(answer.status)}`)
  return answer
}

/** Snapshots as they come, until the command ends or the signal. */
async function* snapshots(link: URL, signal?: AbortSignal): AsyncGenerator<ReadonlyArray<Snapshot>> {
  const { body } = await ask(link, 'stream', signal)
  let text = ''
  try {
    for await (const chunk of body?.pipeThrough(new TextDecoderStream()) ?? []) {
      const whole = (text + chunk).split('\n')
      text = whole.pop() ?? ''
      // An inspector that knows the token sends nothing else.
      if (whole.length > 0) yield JSON.parse(whole.at(-1) ?? '') as ReadonlyArray<Snapshot>
    }
  } catch (error) {
    // The command has ended, or this one shall.
    if (error instanceof SyntaxError) throw new UsageError(`--inspect-env: ${link.host} is no inspector`)
  }
}

export const topCommand = async ({ link }: OptionsOf<'top'>, terminal: Terminal): Promise<number> => {
  const { out, err, host } = terminal
  const stop = stopSignals(host).gently
  const isScreen = outputOf('auto', terminal) === 'live'
  for await (const parts of snapshots(link, stop)) {
    const lines = liveFrame(parts, terminal.width(), isScreen ? err.paint : out.paint).join('\n')
    if (isScreen) terminal.draw(lines)
    else {
      out.line(lines)
      return FINE
    }
  }
  terminal.draw('')
  if (!stop.aborted) err.line('headrace top: the command has ended')
  return FINE
}

export const explainCommand = async ({ link }: OptionsOf<'explain'>, { out, err }: Terminal, id: string) => {
  let parts: ReadonlyArray<Snapshot> = []
  for await (parts of snapshots(link)) break
  let known = 0
  for (const { key, name } of parts) {
    const answer = await ask(link, `story/${String(key)}/${encodeURIComponent(id)}`)
    if (!answer.ok) continue
    known++
    // As above.
    const story = (await answer.json()) as ReturnType<typeof storyOf>
    const from = parts.length > 1 ? `${plain(name)}: ` : ''
    const requests = counted(story.requests, 'request')
    out.line(`${from}${plain(id)} ${plain(story.type)} ${plain(story.state.toLowerCase())}, ${requests}`)
    for (const step of story.steps)
      out.line(`  +${showMillis(step.at - story.at).padEnd(6)} ${plain(step.text, 1_000)}`)
  }
  if (known > 0) return FINE
  err.line(`headrace explain: ${plain(id)} is not known: the last 500 events are, while the command runs`)
  return FAULT
}
