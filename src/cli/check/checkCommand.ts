import type {
  CollectorSettings,
  DestinationSettings,
  SourceSettings,
} from '../../collector/CollectorSettings.ts'
import { readConfig } from '../config/readConfig.ts'
import { strayOutboxes } from '../config/strayOutboxes.ts'
import { FINE, USAGE } from '../ExitCode.ts'
import { OUTPUTS } from '../output/Output.ts'
import { plain } from '../output/plain.ts'
import { toJson } from '../output/Report.ts'
import type { Terminal } from '../Terminal.ts'
import { all } from '../values/Checked.ts'
import { parseChoice } from '../values/parseChoice.ts'
import { oversights } from './oversights.ts'

/** Flags as commander hands them over. */
export interface CheckFlags {
  readonly output: string
}

const list = (names: ReadonlyArray<string>): string => names.map((name) => plain(name)).join(', ')

const sourceLine = ({ id, enabled = true, deletions = false }: SourceSettings): string =>
  `source ${plain(id)}: ${enabled ? 'on' : 'off'}${deletions ? ', may ask for deletions' : ''}`

const urlsOf = ({ webhooks = [] }: DestinationSettings): string =>
  webhooks.length === 1 ? '1 URL' : `${String(webhooks.length)} URLs`

const destinationLine = (destination: DestinationSettings): string => {
  const { name, sources, sharedSecret, enabled = true } = destination
  const signed = sharedSecret === undefined ? 'not signed by a shared secret' : 'signed'
  return `destination ${plain(name)}: ${enabled ? 'on' : 'off'}, from ${list(sources)}, to ${urlsOf(destination)}, ${signed}`
}

const tell = (
  file: string,
  settings: CollectorSettings,
  output: 'lines' | 'json' | 'quiet',
  { out, err }: Terminal,
): void => {
  const { sources, destinations } = settings
  const notes = [...oversights(settings), ...strayOutboxes(settings)]
  if (output === 'json')
    out.line(
      toJson({
        t: 'checked',
        file,
        sources: sources.length,
        destinations: destinations.length,
        notes,
        faults: [],
      }),
    )
  if (output === 'lines')
    for (const line of [...sources.map(sourceLine), ...destinations.map(destinationLine)]) out.line(line)
  if (output !== 'json') for (const note of notes) err.line(`headrace check: ${note}`)
  if (output === 'lines') out.line(`${file} is right`)
}

/** `headrace check`: says what is wrong with a file for `collect`. Answers the exit code. */
export const checkCommand = (file: string, flags: CheckFlags, terminal: Terminal): number => {
  const checked = all({
    output: parseChoice('--output', flags.output, OUTPUTS),
    settings: readConfig(file, process.env),
  })
  if (checked._tag === 'Right') {
    tell(file, checked.right.settings, checked.right.output, terminal)
    return FINE
  }
  if (flags.output === 'json') terminal.out.line(toJson({ t: 'checked', file, faults: checked.left }))
  else for (const sentence of checked.left) terminal.err.line(`headrace check: ${sentence}`)
  return USAGE
}
