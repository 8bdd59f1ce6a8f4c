/** No page grows beyond its limit, and sentences stay short. `npm run sizes -- --documents` prints the lengths of all pages. */
import t from 'tap'
import { lengthOf } from '../../support/documents/length.ts'
import { textOf } from '../../support/documents/list.ts'

const MAX_SENTENCE = 18
/** Words, counted as by `wc -w`. What a page says is nowhere else: before a limit is raised, look what can go. */
const limits: Readonly<Record<string, number>> = {
  'CHANGELOG.md': 3600,
  'README.md': 750,
  'SECURITY.md': 650,
  'docs/access.md': 1850,
  'docs/assistants.md': 600,
  'docs/cache-endpoints.md': 900,
  'docs/cache.md': 2500,
  'docs/commands.md': 700,
  'docs/comparison.md': 750,
  'docs/contract-decisions.md': 4200,
  'docs/installation.md': 1300,
  'docs/migration.md': 1500,
  'docs/monitoring.md': 2500,
  'docs/operations.md': 2500,
  'docs/production.md': 1500,
  'docs/redis.md': 800,
  'docs/troubleshooting.md': 2500,
}

for (const [path, limit] of Object.entries(limits)) {
  const { words, sentence } = lengthOf(textOf(path))
  t.ok(words <= limit, `${path}: ${words} words of at most ${limit}`)
  t.ok(sentence <= MAX_SENTENCE, `${path}: ${sentence} words in the median sentence of at most ${MAX_SENTENCE}`)
}

t.test(
  'the section of the next release has one line for each change that a user of the latest release notices',
  async (t) => {
    const changelog = textOf('CHANGELOG.md')
    const [, unreleased = ''] = /^## \[Unreleased\]\n(.*?)^## \[/ms.exec(changelog) ?? []
    t.ok(lengthOf(unreleased).words <= 1500, `${lengthOf(unreleased).words} words`)
  },
)

t.test('the words of a page are those of wc, and its sentences are those of paragraphs and lists', async (t) => {
  const text =
    '# A title of five words\n\nOne two. Three four five six:\n\n- Seven eight nine.\n\n| a | table |\n\n```sh\ncode\n```\n'
  t.strictSame(lengthOf(text), { words: 24, sentence: 3 })
})
