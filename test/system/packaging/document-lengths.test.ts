/** The documents stay readable in a day. `npm run sizes -- --documents` prints the lengths of all pages. */
import t from 'tap'
import { lengthOf } from '../../support/documents/length.ts'
import { documents, isGenerated, textOf } from '../../support/documents/list.ts'

/** Words, counted as by `wc -w`. What a page says is nowhere else: before a limit is raised, look what can go. */
const MAX_ALL = 45_000
const MAX_PAGE = 2500
const MAX_DECISION = 200
const MAX_UNRELEASED = 1500
const MAX_SENTENCE = 18
/** Lists from records, and pages that are shorter than others. */
const limits: Readonly<Record<string, number>> = {
  'CHANGELOG.md': 2500,
  'README.md': 750,
  'SECURITY.md': 650,
  'docs/access.md': 1700,
  'docs/assistants.md': 550,
  'docs/cache-endpoints.md': 900,
  'docs/clients.md': 750,
  'docs/commands.md': 650,
  'docs/comparison.md': 550,
  'docs/contract-decisions.md': 4000,
  'docs/installation.md': 1250,
  'docs/migration.md': 1400,
  'docs/monitoring.md': 2200,
  'docs/operations.md': 2250,
  'docs/plugins.md': 350,
  'docs/production.md': 1500,
  'docs/redis.md': 800,
  'docs/troubleshooting.md': 2250,
  'test/README.md': 1600,
}

const read = documents().filter((document) => !isGenerated(document))
const all = read.map(({ path, text }) => ({ path, ...lengthOf(text) }))

t.test('no page is longer than its limit, and sentences are short', async (t) => {
  for (const { path, words, sentence } of all) {
    const limit = limits[path] ?? (/^docs\/decisions\/\d/.test(path) ? MAX_DECISION : MAX_PAGE)
    t.ok(words <= limit, `${path}: ${words} words of at most ${limit}`)
    t.ok(sentence <= MAX_SENTENCE, `${path}: ${sentence} words in the median sentence of at most ${MAX_SENTENCE}`)
  }
})

t.test('all documents but the generated reference are read in a day', async (t) => {
  const words = all.reduce((sum, each) => sum + each.words, 0)
  const longest = [...all].sort((a, b) => b.words - a.words).slice(0, 3)
  const names = longest.map((each) => `${each.path} (${each.words})`).join(', ')
  t.ok(words <= MAX_ALL, `${words} words of at most ${MAX_ALL}: cut what is said twice; the longest are ${names}`)
})

t.test(
  'the section of the next release has one line for each change that a user of the latest release notices',
  async (t) => {
    const changelog = textOf('CHANGELOG.md')
    const [, unreleased = ''] = /^## \[Unreleased\]\n(.*?)^## \[/ms.exec(changelog) ?? []
    const { words } = lengthOf(unreleased)
    t.ok(
      words <= MAX_UNRELEASED,
      `CHANGELOG.md, Unreleased: ${words} words of at most ${MAX_UNRELEASED}; join or cut lines`,
    )
  },
)

t.test('the words of a page are those of wc, and its sentences are those of paragraphs and lists', async (t) => {
  const text =
    '# A title of five words\n\nOne two. Three four five six:\n\n- Seven eight nine.\n\n| a | table |\n\n```sh\ncode\n```\n'
  t.strictSame(lengthOf(text), { words: 24, sentence: 3 })
})
