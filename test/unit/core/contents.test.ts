import t from 'tap'
import { errorNumberOf } from '../../../src/core/envelope.ts'

const said = (text: string) => errorNumberOf({ kind: 'json', status: 200, body: Buffer.from(text) })

t.test('an answer is good that says error 0, however it is written', async (t) => {
  t.equal(said('{"error":0,"data":{"items":[]}}'), 0)
  t.equal(said('{ "data": {}, "error": 0 }'), 0)
  t.equal(said('{"error":"0","message":"done"}'), 0)
})

t.test('what data says of errors is not the error of the answer', async (t) => {
  t.equal(said('{"error":0,"data":{"items":[{"level":"error"},{"level":"error" }]}}'), 0)
  t.equal(said('{"error":0,"data":{"failed_ids":[{"id":"001","error":{"code":1701}}]}}'), 0)
})

t.test('of an error that is named twice, the last counts, as it does for clients', async (t) => {
  t.equal(said('{"error":0,"data":{"level":"error"},"error":1701}'), 1701)
  t.equal(said('{"error":0,"data":{},"error" : 1701}'), 1701)
  t.equal(said('{"error":1701,"data":{},"error":0}'), 0)
})

t.test('an error that comes as a text has its number, too', async (t) => {
  t.equal(said('{"error":"607","message":"Content-Type"}'), 607)
  t.equal(said('{"error":"Undefined error.","message":""}'), 623)
  t.equal(said('{"error":"something else","message":""}'), 1000)
  t.equal(said('{"error":null,"message":""}'), 1000, 'null is not zero')
})
