/** What the killed process stores: every text tells its key, and is as long as the key says. */
export const textOf = (key) => {
  const [life, number] = key.split('-').map(Number)
  return `${key} ${'é{"x":1} '.repeat((life * 31 + number * 17) % 400)}`
}

export const keyOf = (text) => text.slice(0, text.indexOf(' '))

export const codec = { toText: (text) => text, fromText: (text) => text, sizeOf: (text) => text.length }
