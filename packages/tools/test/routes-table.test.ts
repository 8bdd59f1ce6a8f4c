import t from 'tap'
import { catalogue } from '../../../src/contracts/index.ts'
import { routesTable } from '../src/commands/reports.ts'

t.test('the table has one aligned line per endpoint', async (t) => {
  const text = routesTable(catalogue)
  t.ok(text.endsWith('\n'))
  const [title = '', ...lines] = text.slice(0, -1).split('\n')
  t.equal(lines.length, catalogue.length)
  const starts = ['METHOD', 'PATH', 'PERMISSION', 'TARGET', 'CACHE', 'SECRET'].map((column) => title.indexOf(column))
  for (const line of lines) {
    t.notMatch(line, / $/, 'no trailing space')
    for (const at of starts.slice(1)) t.match(line.slice(at - 2, at + 1), /^ {2}\S$/, line)
  }
  const key = lines.find((line) => line.includes(' /agents/:agent_id/key '))
  t.match(key?.split(/ {2,}/), ['GET', '/agents/:agent_id/key', /:/, 'master', '-', 'always'])
})
