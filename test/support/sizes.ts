/** Prints the size of this working tree (`npm run sizes`), and what is gone or new since another one. */

import { lengthOf } from './documents/length.ts'
import { documents, isGenerated } from './documents/list.ts'
import { readOptions } from './script-options.ts'
import { sizesOf } from './tree-sizes.ts'

const { values } = readOptions({
  name: 'sizes',
  purpose:
    'Prints the lines of TypeScript, the number of settings, metrics, commands and routes, and the words of the documents.',
  options: {
    documents: { kind: 'flag', meaning: 'print the words of each document, and those of its median sentence' },
    than: { kind: 'text', value: 'FOLDER', meaning: 'compare with the working tree of another commit' },
  },
})

const now = sizesOf('.')
const before = values.than === undefined ? undefined : sizesOf(values.than)
const row = (name: string, count: number, earlier?: number): void =>
  console.log(
    `${name.padEnd(18)}${before === undefined ? '' : String(earlier).padStart(8)}${String(count).padStart(8)}`,
  )

if (before !== undefined) console.log(`${''.padEnd(18)}  before     now`)
for (const folder of ['src', 'test', 'packages'] as const)
  row(`lines in ${folder}`, now.lines[folder], before?.lines[folder])
for (const kind of ['settings', 'metrics', 'commands', 'routes'] as const)
  row(kind, now.names[kind].length, before?.names[kind].length)

if (values.documents) {
  const lengths = documents().map((document) => ({
    path: document.path,
    isReference: isGenerated(document),
    ...lengthOf(document.text),
  }))
  for (const { path, words, sentence } of lengths)
    console.log(`${path.padEnd(60)}${words} words, ${sentence} in a sentence`)
  const sum = (of: typeof lengths) => of.reduce((sum, { words }) => sum + words, 0)
  console.log(`${'the generated reference'.padEnd(60)}${sum(lengths.filter((each) => each.isReference))} words`)
  console.log(`${'all other documents'.padEnd(60)}${sum(lengths.filter((each) => !each.isReference))} words`)
}

for (const kind of ['settings', 'metrics', 'commands', 'routes'] as const) {
  const earlier = before?.names[kind] ?? now.names[kind]
  print(
    `${kind} that are gone`,
    earlier.filter((name) => !now.names[kind].includes(name)),
  )
  print(
    `new ${kind}`,
    now.names[kind].filter((name) => !earlier.includes(name)),
  )
}

function print(title: string, names: readonly string[]): void {
  if (names.length > 0) console.log(`\n${title}:\n${names.map((name) => `  ${name}`).join('\n')}`)
}
