import quillet = require('quillet');

const template: quillet.Template = new quillet.Template('{{ x }}', { format: 'jinja' });
const text: string = template.render({ x: 1 });
console.log(text, quillet.check('x').length);
