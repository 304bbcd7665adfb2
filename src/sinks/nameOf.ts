/** FNV-1a, 32 bits: tells two queries apart in a name and prints neither. */
const fingerprint = (text: string): string => {
  let hash = 0x811c9dc5
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193)
  return (hash >>> 0).toString(16).padStart(8, '0')
}

/** What a sink is called that posts to a URL: the URL up to the query, with a hash of the query if there is one. */
export const nameOf = ({ origin, pathname, search }: URL): string =>
  search === '' ? origin + pathname : `${origin}${pathname}?${fingerprint(search)}`
