/** docs/laws.md is written from the laws: run this test with -u. */
import { expect, it } from 'vitest'
import { rooms, type Room } from '../../support/publishedLaws.ts'

const HEAD = `# Laws

Each law of \`headrace/testing/laws\`, and broken versions that it finds, each within 100 runs on every seed of ten that were tried. Some of
them are published. How to use them: [testing.md](testing.md). This page is written from the laws themselves.
`

const sectionOf = ({ name, laws, mutants }: Room): string => {
  const texts = laws.map(({ id, statement, situations }) => {
    const finds = mutants.filter(({ breaks }) => breaks === id).map((each) => `"${each.name}"`)
    const reached = situations.length === 0 ? '' : ` Reached in each check: ${situations.join('; ')}.`
    return `- \`${id}\`: ${statement}${reached} Finds one that ${finds.join(', ')}.\n`
  })
  return `## Laws of ${name}\n\n${texts.join('')}`
}

it('the page of all laws is that of today', async () => {
  await expect([HEAD, ...rooms.map(sectionOf)].join('\n')).toMatchFileSnapshot('../../../docs/laws.md')
})
