import { existsSync, readFileSync } from 'node:fs'
import t from 'tap'

const KINDS = [
  'An endpoint',
  'An operation of the v4 contract',
  'A parameter',
  'A setting',
  'A metric',
  'An error of the edge',
  'A field of `GET /cache/explain`',
  'A merge rule',
  'A dialect',
  'A console view',
]
const section = /\n## Checklists\n(.*?)\n## /s.exec(readFileSync('CONTRIBUTING.md', 'utf8'))?.[1] ?? ''
const checklists = new Map(
  section
    .split('\n### ')
    .slice(1)
    .map((text) => [text.slice(0, text.indexOf('\n')), text.split(/\n\d+\. /).slice(1)]),
)

t.test('each kind of change has a checklist in CONTRIBUTING.md', async (t) => {
  t.strictSame([...checklists.keys()], KINDS)
})

t.test('each step of a checklist names a file, and what fails without it', async (t) => {
  for (const [kind, steps] of checklists) {
    t.ok(steps.length > 1, `${kind}: ${steps.length} steps`)
    for (const step of steps) {
      const [what = '', holder = ''] = step.replaceAll(/\s+/g, ' ').split(' — ')
      const [first = ''] = filesIn(what)
      t.ok(existsSync(first), `${kind}: "${what}" begins with a file`)
      const tests = filesIn(holder)
      for (const file of tests) t.ok(file.endsWith('.test.ts') && existsSync(file), `${kind}: ${file} is a test`)
      t.ok(tests.length > 0 || /^compiler/.test(holder), `${kind}: "${what}" is held by a test or by the compiler`)
    }
  }
})

function filesIn(text: string): readonly string[] {
  return Array.from(text.matchAll(/`((?:src|packages|test|config|docs)\/[^`]+)`/g), ([, file = '']) => file)
}
