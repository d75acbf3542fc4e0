import service = require('quillet/service');

const answer: Promise<unknown> = service.run('user: q\n', { model: () => 'a' });
console.log(answer, service.checkQuery('SELECT 1').sql);
