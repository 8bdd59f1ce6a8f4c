/** Prints size and shape of this working tree (`npm run sizes`), and what is gone or new since another one. */

import { isForTestsOnly, MAX_FILE_LINES, MAX_FUNCTION_LINES, ofOneRoom, shapeOf } from './code-shape.ts'
import { lengthOf } from './documents/length.ts'
import { documents, isGenerated } from './documents/list.ts'
import { MAX_RELEASE_5_LINES, release5Lines } from './release-5-code.ts'
import { readOptions } from './script-options.ts'
import { sizesOf } from './tree-sizes.ts'

const { values } = readOptions({
  name: 'sizes',
  purpose:
    'Prints the lines of TypeScript, what of src is too long or exported in vain, the number of settings, metrics, commands and routes, and the words of the documents.',
  options: {
    documents: { kind: 'flag', meaning: 'print the words of each document, and those of its median sentence' },
    than: { kind: 'text', value: 'FOLDER', meaning: 'compare with the working tree of another commit' },
  },
})

const now = sizesOf('.')
const before = values.than === undefined ? undefined : sizesOf(values.than)
const row = (name: string, count: number, earlier?: number): void =>
  console.log(
    `${name.padEnd(30)}${before === undefined ? '' : String(earlier).padStart(8)}${String(count).padStart(8)}`,
  )

if (before !== undefined) console.log(`${''.padEnd(30)}  before     now`)
for (const folder of ['src', 'src without layouts', 'test', 'packages'] as const)
  row(`lines in ${folder}`, now.lines[folder], before?.lines[folder])
for (const kind of ['settings', 'metrics', 'commands', 'routes'] as const)
  row(kind, now.names[kind].length, before?.names[kind].length)

const ofRelease5 = release5Lines('.')
const linesOfRelease5 = [...ofRelease5.values()].reduce((sum, lines) => sum + lines, 0)
console.log(`\n${linesOfRelease5} lines of src for release 5.0 that are not data (at most ${MAX_RELEASE_5_LINES}):`)
for (const [path, lines] of ofRelease5) console.log(`  ${lines} ${path}`)

const shape = shapeOf('.')
const withoutReason = shape.longFiles.filter(({ reason }) => reason === undefined)
print(
  `functions of src over ${MAX_FUNCTION_LINES} lines`,
  shape.longFunctions.map(({ place, name, lines }) => `${lines} ${name} ${place}`),
)
print(
  `files of src over ${MAX_FILE_LINES} lines with a reason`,
  shape.longFiles.flatMap(({ path, lines, reason }) => (reason === undefined ? [] : [`${lines} ${path}: ${reason}`])),
)
print(
  `files of src over ${MAX_FILE_LINES} lines without a reason`,
  withoutReason.map(({ path, lines }) => `${lines} ${path}`),
)
print(
  'exports of src that only tests use',
  shape.exports.filter(isForTestsOnly).map(({ path, name }) => `${path} ${name}`),
)
print(
  'exports of src/core that one room alone uses',
  ofOneRoom(shape.exports).map(({ path, name, room }) => `${path} ${name}: ${room}`),
)

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
  if (names.length > 0) console.log(`\n${names.length} ${title}:\n${names.map((name) => `  ${name}`).join('\n')}`)
}
