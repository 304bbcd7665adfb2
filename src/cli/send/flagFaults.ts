import type { Fault } from '../../outcome/Refusal.ts'

const PLACE = /^webhooks\[(\d+)\](?:\.(\w+)(?:\.(.+))?)?$/

const sentenceOf = ({ path, message }: Fault, urls: number): string => {
  if (path === 'webhooks')
    return `--to may be given one to five times, not ${String(urls)} times: leave some URLs out`
  const [, at = '0', part, header] = PLACE.exec(path) ?? []
  const place = urls === 1 ? '--to' : `--to number ${String(Number(at) + 1)}`
  if (part === 'headers') return `--header ${header ?? ''} ${message}`.replaceAll(/ +/g, ' ')
  if (part === 'url') {
    // Other URLs are named as settings name them.
    const said = message.replace(
      /webhooks\[(\d+)\]\.url/,
      (_, other: string) => `--to number ${String(Number(other) + 1)}`,
    )
    return `${place} ${said}`
  }
  return path === '' ? message : `${path} ${message}`
}

/**
 * What is wrong with settings, in the words of the command line. All URLs have the same headers, so what is wrong with one is said
 * once.
 *
 * @param urls how many there are
 */
export const flagFaults = (faults: ReadonlyArray<Fault>, urls: number): ReadonlyArray<string> => [
  ...new Set(faults.map((fault) => sentenceOf(fault, urls))),
]
