import { undelivered } from '../Summary.ts'
import type { DeadFile } from './DeadFile.ts'
import type { Account } from './ForwardContract.ts'

/** What notes name. */
interface Names {
  readonly command: string
  readonly dead: string | undefined
  readonly outbox?: string | undefined
}

const ofReading = (
  { summary, passed, cut, inputError }: Account,
  { outbox }: Names,
): ReadonlyArray<string> => {
  if (inputError !== undefined) return []
  const waiting = outbox === undefined ? '' : ` and nothing waited in ${outbox},`
  const what = passed > 0 ? 'nothing new' : 'no events'
  return [
    ...(cut ? ['stopped: the input was not read to its end'] : []),
    ...(summary.read === 0 ? [`the input holds ${what},${waiting} so there was nothing to send`] : []),
  ]
}

const ofFolder = ({ summary, stored }: Account, folder: string): ReadonlyArray<string> => {
  const buried = summary.rejected + summary.expired
  const { unreadable, forgotten } = stored ?? { unreadable: 0, forgotten: 0 }
  const kept =
    forgotten > 0
      ? `and ${String(forgotten)} letters made room for newer ones and are gone; the rest is kept in ${folder}`
      : `kept in ${folder}`
  const readable = summary.waiting - unreadable
  return [
    ...(readable > 0
      ? [
          `${String(readable)} wait in ${folder}: the same command goes on with them, and with the rest of the input`,
        ]
      : []),
    ...(unreadable > 0
      ? [
          `${String(unreadable)} in ${folder} cannot be read, and are not sent: headrace dead purge --unreadable --outbox ${folder} forgets them`,
        ]
      : []),
    ...(buried > 0 ? [`${String(buried)} dead, ${kept}: see headrace dead ls --outbox ${folder}`] : []),
  ]
}

const ofDeadFile = (file: DeadFile, lost: number, { command, dead }: Names): ReadonlyArray<string> => {
  const name = String(dead)
  const failure = file.failure()
  return [
    ...(failure === undefined
      ? []
      : [
          `--dead '${name}' could not be written: ${failure}; ${String(lost - file.kept())} events are not in it`,
        ]),
    ...(file.kept() === 0
      ? []
      : [
          `${String(file.kept())} not delivered, now in ${name}; send them again with: headrace ${command} ${name} …`,
        ]),
  ]
}

/** What a person should know at the end, beside the numbers. */
export const notesOf = (
  names: Names,
  account: Account,
  dead: DeadFile | undefined,
): ReadonlyArray<string> => {
  const lost = undelivered(account.summary)
  const inMemory =
    lost > 0 && dead === undefined
      ? [`${String(lost)} not delivered; with --dead FILE they are kept, to be sent again`]
      : []
  return [
    ...ofReading(account, names),
    ...(names.outbox === undefined ? inMemory : ofFolder(account, names.outbox)),
    ...(dead === undefined ? [] : ofDeadFile(dead, lost, names)),
  ]
}
