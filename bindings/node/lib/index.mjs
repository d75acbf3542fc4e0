import quillet from './index.cjs';

export const { Template, QuilletError, check, convert, float, formats } = quillet;
