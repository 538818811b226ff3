-- Nothing: the number is kept free for another change, which takes the place of this file.

select 1;
