import t from 'tap'
import { shownPath } from '../../../src/http/shown-path.ts'

t.test('the path is shown without its query', async (t) => {
  t.equal(shownPath('/agent/1?password=secret'), '/agent/1')
  t.equal(shownPath('/agents'), '/agents')
})

t.test('nothing is shown that a client may have meant as a query', async (t) => {
  for (const target of ['#', ';', '&token=', '=', '%3F', '%3fa', '%26', '%3D', '%3B', '%23']) {
    t.equal(shownPath(`/agents${target}secret`), '/agents', target)
  }
})

t.test('a target that may contain credentials is not shown', async (t) => {
  t.equal(shownPath('http://user:password@host/agents'), undefined)
  t.equal(shownPath('*'), undefined)
  t.equal(shownPath(undefined), undefined)
})

t.test('control characters are escaped', async (t) => {
  t.equal(shownPath('/a\u0000\u001b[31m\u007f\u0085\u202eb'), '/a\\u{0}\\u{1b}[31m\\u{7f}\\u{85}\\u{202e}b')
  t.equal(shownPath('/%00%1b'), '/%00%1b', 'percent-encoded ones stay encoded')
})

t.test('a long path is cut to 120 characters', async (t) => {
  const shown = shownPath(`/${'a'.repeat(5000)}`) ?? ''
  t.equal(shown.length, 120)
  t.ok(shown.endsWith('…'))
  t.equal(shownPath(`/${'a'.repeat(119)}`)?.length, 120)
  t.notMatch(shownPath(`/${'a'.repeat(119)}`), '…')
})
