import { existsSync, readdirSync, statSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import t from 'tap'
import { documents, textOf } from '../../support/documents/list.ts'

/** A document without its code blocks and code spans: what is left contains the links. */
const prose = (text: string): string => text.replace(/```.*?```/gs, '').replace(/`[^`\n]*`/g, '``')

/** Returns the anchors of the headings as GitHub builds them: lower case, punctuation removed, blanks as hyphens. */
function anchorsOf(text: string): Set<string> {
  const headings = [...text.replace(/```.*?```/gs, '').matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = '']) => heading)
  const plain = headings.map((heading) => heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').trim())
  return new Set(
    plain.map((heading) =>
      heading
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  )
}

function linksOf(text: string): string[] {
  return [...prose(text).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target)
}

t.test('every relative link of a document leads to a file or folder, and every anchor to a heading', async (t) => {
  let count = 0
  for (const { path, text } of documents()) {
    for (const link of linksOf(text)) {
      if (/^(?:https?|mailto):/.test(link)) continue
      count++
      const [file = '', anchor] = link.split('#')
      const target = file === '' ? path : normalize(join(dirname(path), file))
      if (!existsSync(target)) {
        t.fail(`${path}: ${link} does not exist`)
        continue
      }
      if (anchor === undefined || statSync(target).isDirectory()) continue
      t.ok(anchorsOf(textOf(target)).has(anchor), `${path}: ${link} has no such heading`)
    }
  }
  t.ok(count > 80, `${count} links were checked`)
})

t.test('every file of the repository that a document names in code exists', async (t) => {
  let count = 0
  for (const { path, text } of documents()) {
    if (path === 'CHANGELOG.md') continue
    const inline = text.matchAll(/`((?:docs|config|test|src|packages)\/[\w./-]+|[A-Z]+\.md|Dockerfile)`/g)
    const commands = [...text.matchAll(/```sh\n(.*?)```/gs)].map(([, block = '']) => block).join('')
    for (const [, file = ''] of [
      ...inline,
      ...commands.matchAll(/(?:^|[ =])((?:config|test|src|packages)\/[\w./-]+)/gm),
    ]) {
      // Folders that an operator creates.
      if (/^config\/(?:edge|secrets)\b/.test(file)) continue
      count++
      t.ok(existsSync(file), `${path}: ${file}`)
    }
  }
  t.ok(count > 40, `${count} files were checked`)
})

t.test('every document of docs/ can be reached from the README', async (t) => {
  const reached = new Set(['README.md'])
  for (const path of reached) {
    for (const link of linksOf(textOf(path))) {
      const target = normalize(join(dirname(path), link.split('#')[0] ?? ''))
      // A link to a folder shows its files.
      const isFolder = existsSync(target) && statSync(target).isDirectory()
      const files = isFolder ? readdirSync(target).map((name) => join(target, name)) : [target]
      for (const file of files) if (file.endsWith('.md') && existsSync(file)) reached.add(file)
    }
  }
  for (const { path } of documents()) t.ok(reached.has(path), path)
})

t.test('anchors are built as GitHub builds them', async (t) => {
  const text =
    '# Stop: graceful shutdown\n## `cache`\n### Owners (mode `edge`)\n```\n# no heading\n```\n## A [link](x.md)'
  t.strictSame([...anchorsOf(text)], ['stop-graceful-shutdown', 'cache', 'owners-mode-edge', 'a-link'])
})
