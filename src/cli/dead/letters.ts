import { matching } from './Filter.ts'
import type { Filter, Letter } from './Filter.ts'
import type { StoredDead } from './withOutbox.ts'

const PAGE = 1_000

/** The dead letters that are meant, page by page: there may be more of them than memory holds. */
export async function* letters({ dead }: StoredDead, filter: Filter): AsyncGenerator<Letter> {
  const isMeant = matching(filter)
  let after: string | undefined
  for (;;) {
    const page = await dead.list({ limit: PAGE, ...(after === undefined ? {} : { after }) })
    for (const letter of page) if (isMeant(letter)) yield letter
    if (page.length < PAGE) return
    after = page.at(-1)?.id
  }
}
