import { readFileSync } from 'node:fs'
import t from 'tap'
import { REMAINING } from '../system/snapshots/one-answer/remaining.ts'

t.test(
  'docs/contract-decisions.md lists the differences that the comparison of snapshots excepts, and no others',
  async (t) => {
    const document = readFileSync(new URL('../../docs/contract-decisions.md', import.meta.url), 'utf8')
    const [, section = ''] = document.split('\n## What a snapshot answers differently from a node\n')
    const table = (section.split('\n## ')[0] ?? '').split('\n').filter((line) => line.startsWith('| '))
    const [head, ...rows] = table.map((line) => line.split('|')[1]?.trim())
    t.equal(head, 'Difference')
    t.strictSame(
      rows,
      REMAINING.map(({ name }) => name),
    )
  },
)
