import t from 'tap'
import { csvOf, exportFileName, jsonOf } from '../src/export.ts'

t.test('CSV has one line per row below the column names, and each line ends with CR LF', async (t) => {
  const rows = [
    { node: 'master', calls: 3, p50Ms: 1.5, ready: true },
    { node: 'worker-1', calls: -2, error: 'a "quoted", long\r\ntext' },
  ]
  t.equal(
    csvOf(rows),
    [
      '"node","calls","p50Ms","ready","error"',
      '"master",3,1.5,true,',
      '"worker-1",-2,,,"a ""quoted"", long\r\ntext"',
      '',
    ].join('\r\n'),
  )
})

t.test('a list is one cell', async (t) => {
  t.equal(csvOf([{ tags: ['agent:001', 'cache'] }]), '"tags"\r\n"agent:001 cache"\r\n')
})

t.test('a spreadsheet computes no text as a formula', async (t) => {
  const cell = (text: string) =>
    csvOf([{ a: text }])
      .split('\r\n')
      .slice(1, -1)
      .join('\r\n')
  for (const start of ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠']) {
    t.equal(cell(`${start}1+1`), `"'${start}1+1"`, JSON.stringify(start))
  }
  // Some spreadsheets also end a cell at a semicolon, a tabulator or a new line.
  t.equal(cell('a;=1+1'), `"a;'=1+1"`)
  t.equal(cell('a\n=HYPERLINK("x")'), `"a\n'=HYPERLINK(""x"")"`)
  t.equal(cell('/agents?sort=-name,+id'), '"/agents?sort=-name,+id"', 'other text stays as it is')
  t.equal(csvOf([{ '=1': 0 }]), `"'=1"\r\n0\r\n`, 'names of columns too')
})

t.test('JSON holds the values as they are', async (t) => {
  const rows = [{ user: '=1+1', tags: ['a'], calls: 3, error: undefined }]
  t.strictSame(JSON.parse(jsonOf(rows)), [{ user: '=1+1', tags: ['a'], calls: 3 }])
})

t.test('the name of the file contains table and time', async (t) => {
  t.equal(exportFileName('nodes', 'csv', Date.UTC(2026, 10, 22, 20, 15, 0)), 'manager-edge-nodes-20261122T201500Z.csv')
})
